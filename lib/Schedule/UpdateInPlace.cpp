//===- UpdateInPlace.cpp - when a cache may be written ------------------------------------------------------------===//

#include "moe-mlir/Schedule/Decisions.h"
#include "moe-mlir/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHUPDATEINPLACE
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

/// The value that shares the elements of operand `use` in memory once both are buffers: a view's, or the rows of a
/// dispatch, which experts read where the tokens are.
static Value aliasThrough(OpOperand &use) {
  Operation *user = use.getOwner();
  if (use.getOperandNumber() == 0 && isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp,
                                         tensor::ReshapeOp, moe::DispatchOp>(user))
    return user->getResult(0);
  return Value();
}

/// Whether a result of `func` is the next value of its argument `number`. A state without one keeps the value it has.
static bool isWritten(func::FuncOp func, unsigned number) {
  return llvm::any_of(llvm::seq(func.getNumResults()), [&](unsigned result) {
    auto state = func.getResultAttrOfType<IntegerAttr>(result, "moe.state_of");
    return state && state.getInt() == number;
  });
}

/// The operand whose memory `op` may write its next value into, and that value; null for other ops.
static std::pair<OpOperand *, Value> updateOf(Operation *op) {
  if (auto update = dyn_cast<nn::CacheUpdateOp>(op))
    return {&update.getCacheMutable(), update.getResult()};
  if (auto scan = dyn_cast<nn::ScanOp>(op))
    return {&scan.getStateMutable(), scan.getNext()};
  return {nullptr, Value()};
}

/// What `op` writes into, in words.
static StringRef wordOf(Operation *op) { return isa<nn::ScanOp>(op) ? "state" : "cache"; }

bool mlir::kernel::isInPlace(Operation *op) {
  if (auto update = dyn_cast<nn::CacheUpdateOp>(op))
    return update.getInPlace();
  auto scan = dyn_cast<nn::ScanOp>(op);
  return scan && scan.getInPlace();
}

/// The value whose memory a chain of views shows.
static Value viewed(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

std::string mlir::kernel::whyNotInPlace(Operation *op) {
  OpOperand *old = updateOf(op).first;
  const std::string word = wordOf(op).str();
  Value root = viewed(old->get());
  if (auto arg = dyn_cast<BlockArgument>(root)) {
    auto func = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
    if (!func || !func.getArgAttr(arg.getArgNumber(), "moe.state"))
      return "writes into an argument that is no state";
    if (!isWritten(func, arg.getArgNumber()))
      return "writes into a state that keeps its value";
  } else if (updateOf(root.getDefiningOp()).second != root) {
    return "writes into a " + word + " that is neither " + (word == "state" ? "an argument" : "a state") +
           " nor the result of another update";
  }
  SmallVector<Value> aliases = {root};
  for (unsigned i = 0; i < aliases.size(); ++i)
    for (OpOperand &use : aliases[i].getUses()) {
      Operation *user = use.getOwner();
      if (&use == old || isa<tensor::DimOp>(user)) // which reads no element
        continue;
      if (Value alias = aliasThrough(use))
        aliases.push_back(alias);
      else if (user->getBlock() != op->getBlock() || !user->isBeforeInBlock(op))
        return "writes into a " + word + " whose old " + (word == "state" ? "elements" : "rows") + " are read later";
    }
  return "";
}

namespace {
struct GraphUpdateInPlace : kernel::impl::GraphUpdateInPlaceBase<GraphUpdateInPlace> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (!updateOf(op).first || kernel::isInPlace(op))
        return;
      std::string why = kernel::whyNotInPlace(op);
      if (auto update = dyn_cast<nn::CacheUpdateOp>(op))
        update.setInPlace(why.empty());
      else
        cast<nn::ScanOp>(op).setInPlace(why.empty());
      if (why.empty())
        return;
      if (isa<nn::ScanOp>(op))
        remark::missed(op->getLoc(), remark::RemarkOpts::name("State").category("graph-update-in-place"))
            << "the whole state is copied before the first step, because it " + why;
      else
        remark::missed(op->getLoc(), remark::RemarkOpts::name("Cache").category("graph-update-in-place"))
            << "the whole cache is copied before rows are written, because it " + why;
    });
  }
};
} // namespace
