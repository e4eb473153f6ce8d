//===- RankContract.cpp - what ops of one rank's program must keep ------------------------------------------------===//
//
// Rows that go to ranks exist only on their way: the exchange alone reads them. What it received has a layout that its
// way back alone reads. And a rank's experts must see all tokens, or those that an exchange brought: of tokens that are
// divided among the ranks it would miss the others.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "RankContract.h"

#include "DivideLayers.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace moe_mlir;

/// Whether `value` is made of elements of an input that is divided, without an exchange in between.
static bool isOfSplitInput(ValueRange values) {
  llvm::SetVector<Value> pending(values.begin(), values.end());
  for (unsigned i = 0; i < pending.size(); ++i) {
    Value value = pending[i];
    Operation *op = value.getDefiningOp();
    if (!op) {
      auto argument = cast<BlockArgument>(value);
      auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
      if (func && func.getArgAttr(argument.getArgNumber(), moe::kSplitAttr))
        return true;
    } else if (!isa<moe::AllToAllOp, tensor::DimOp>(op)) {
      op->walk([&](Operation *nested) { pending.insert(nested->operand_begin(), nested->operand_end()); });
    }
  }
  return false;
}

static StringRef whyNotTo(moe::DispatchOp op) {
  for (Operation *user : op.getRows().getUsers())
    if (!isa<moe::AllToAllOp>(user))
      return "has rows for ranks that another op than moe.all_to_all reads; they exist on their way only";
  for (Operation *user : op.getLayout().getUsers()) {
    if (isa<moe::AllToAllOp>(user))
      continue;
    auto combine = dyn_cast<moe::CombineOp>(user);
    auto back = combine ? combine.getRows().getDefiningOp<moe::AllToAllOp>() : moe::AllToAllOp();
    if (!back || !back.getInverse() || back.getDispatch() != op)
      return "has a layout of ranks, of which moe.combine sums what its moe.all_to_all 'return' gives; nothing else "
             "uses it";
  }
  return "";
}

static StringRef whyNotAt(moe::DispatchOp op) {
  auto there = op.getTokens().getDefiningOp<moe::AllToAllOp>();
  if (!there)
    return isOfSplitInput({op.getTokens(), op.getExperts()})
               ? "stands at a rank, but its tokens are divided among the ranks; exchange them before, or take "
                 "'moe.split' from the inputs"
               : "";
  auto hasReceived = [&](Value value) { return !value || value.getDefiningOp() == there; };
  if (there.getInverse() || there.getGridAttr() != op.getAtAttr() || !hasReceived(op.getExperts()) ||
      !hasReceived(op.getWeights()))
    return "stands at a rank and reads what a moe.all_to_all on its grid received: tokens, and companions of the same "
           "exchange";
  return "";
}

/// A table that one of them lacks would send tokens to other experts' weights.
static StringRef whyNotOrdered(moe::ExpertOp op) {
  auto dispatch = op.getLayout().getDefiningOp<moe::DispatchOp>();
  if (!dispatch)
    return "";
  for (OpOperand *operand : weightsOf(op)) {
    auto parameter = operand->get().getDefiningOp<moe::ParameterOp>();
    moe::OrderAttr order;
    if (parameter && parameter.getRecipe())
      for (auto step : parameter.getRecipe()->getAsRange<Attribute>())
        order = isa<moe::OrderAttr>(step) ? cast<moe::OrderAttr>(step) : order;
    if (order != dispatch.getOrderAttr())
      return "has weights in another order of experts than its moe.dispatch; give both one #moe.order";
  }
  return "";
}

StringRef moe_mlir::whyNotOfRank(Operation *op) {
  if (auto expert = dyn_cast<moe::ExpertOp>(op))
    return whyNotOrdered(expert);
  if (auto dispatch = dyn_cast<moe::DispatchOp>(op))
    return dispatch.getTo() ? whyNotTo(dispatch) : dispatch.getAt() ? whyNotAt(dispatch) : "";
  auto exchange = dyn_cast<moe::AllToAllOp>(op);
  if (!exchange || exchange.getInverse())
    return "";
  for (Operation *user : exchange.getResultLayout().getUsers())
    if (!isa<moe::AllToAllOp>(user))
      return "received rows whose layout another op than its moe.all_to_all 'return' uses";
  return "";
}
