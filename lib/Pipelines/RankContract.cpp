//===- RankContract.cpp - what ops of one rank's program must keep ------------------------------------------------===//
//
// Rows that go to ranks exist only on their way: the exchange alone reads them. What it received has a layout that its
// way back alone reads. And a rank's experts must see all tokens, or those that an exchange brought: of tokens that are
// divided among the ranks it would miss the others. Of two exchanges that are one inside of the other, the first brings
// tokens to a node, and the second takes what it brought to the node's ranks. Experts that are cut into slices give
// summands, which nobody takes for sums before they are added over the slices' grid.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "RankContract.h"

#include "DivideLayers.h"

#include "moe-mlir/Dialect/Moe/IR/Groups.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/ScalarRegion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace moe_mlir;

/// Whether `values` are made of one that `isIt` knows, without an exchange in between.
static bool areMadeOf(ValueRange values, llvm::function_ref<bool(Value)> isIt) {
  llvm::SetVector<Value> pending(values.begin(), values.end());
  for (unsigned i = 0; i < pending.size(); ++i) {
    Value value = pending[i];
    if (isIt(value))
      return true;
    Operation *op = value.getDefiningOp();
    if (op && !isa<moe::AllToAllOp, tensor::DimOp>(op))
      op->walk([&](Operation *nested) { pending.insert(nested->operand_begin(), nested->operand_end()); });
  }
  return false;
}

/// Whether they are made of an input that is divided among the ranks of `grid`.
static bool isOfSplitInput(ValueRange values, FlatSymbolRefAttr grid) {
  return areMadeOf(values, [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    auto func = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
    Attribute split = func ? func.getArgAttr(argument.getArgNumber(), moe::kSplitAttr) : Attribute();
    return llvm::is_contained(moe::splitGrids(split), grid);
  });
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

/// Whether `there` brings tokens to a rank or node of `at`: it is on that grid, or on its last axis and takes them from
/// their node.
static bool isWayTo(FlatSymbolRefAttr at, moe::AllToAllOp there) {
  if (there.getGridAttr() == at)
    return true;
  std::optional<moe::GridAxis> axis = moe::axisOf(there, there.getGridAttr());
  moe::DispatchOp sent = there.getDispatch();
  return axis && axis->grid == at && sent && sent.getAt();
}

static StringRef whyNotAt(moe::DispatchOp op) {
  auto there = op.getTokens().getDefiningOp<moe::AllToAllOp>();
  if (!there && op.getTo())
    return "goes to the ranks of a node and reads no tokens that a moe.all_to_all brought there";
  if (!there)
    return isOfSplitInput({op.getTokens(), op.getExperts()}, op.getAtAttr())
               ? "stands at a rank, but its tokens are divided among the ranks; exchange them before, or take "
                 "'moe.split' from the inputs"
               : "";
  auto hasReceived = [&](Value value) { return !value || value.getDefiningOp() == there; };
  if (there.getInverse() || !isWayTo(op.getAtAttr(), there) || !hasReceived(op.getExperts()) ||
      !hasReceived(op.getWeights()))
    return "stands at a rank and reads what a moe.all_to_all on its grid received, or on the axes of its grid one after "
           "the other: tokens, and companions of the same exchange";
  auto sent = there.getRows().getDefiningOp<moe::DispatchOp>();
  if (sent && (sent.getNumExperts() != op.getNumExperts() || sent.getOrderAttr() != op.getOrderAttr()))
    return "has another number or order of experts than the moe.dispatch 'to' the ranks whose rows it gets; give both "
           "one num_experts and one order";
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

/// The grid of a step that is a part of another dimension than the first, or of the halves of that.
static FlatSymbolRefAttr gridOfSlices(Attribute step) {
  if (auto once = dyn_cast<moe::OnceAttr>(step))
    return once.getGrid();
  auto shard = dyn_cast<moe::ShardAttr>(step);
  return shard && (shard.getDim() > 0 || shard.getHalves()) ? shard.getGrid() : FlatSymbolRefAttr();
}

/// The step that makes slices of an expert's weight; null if it is whole.
static Attribute sliceOf(Value weight) {
  auto parameter = weight ? weight.getDefiningOp<moe::ParameterOp>() : moe::ParameterOp();
  for (Attribute step : parameter && parameter.getRecipe() ? parameter.getRecipe()->getValue() : ArrayRef<Attribute>())
    if (gridOfSlices(step))
      return step;
  return {};
}

bool moe_mlir::isAddedOver(FlatSymbolRefAttr grid, Value summand) {
  return llvm::all_of(summand.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto sum = dyn_cast<shard::AllReduceOp>(user))
      return sum.getGridAttr() == grid || isAddedOver(grid, sum.getResult());
    if (auto back = dyn_cast<moe::AllToAllOp>(user))
      return back.getInverse() && isAddedOver(grid, back.getResult());
    if (roundsOnly(user))
      return isAddedOver(grid, user->getResult(0));
    if (isa<tensor::DimOp>(user)) // sizes are no summands
      return true;
    auto combine = dyn_cast<moe::CombineOp>(user);
    return combine && use.getOperandNumber() == 0 && isAddedOver(grid, combine.getResult());
  });
}

static StringRef whyNotSlices(moe::ExpertOp op) {
  Attribute in = sliceOf(op.getWIn()), out = sliceOf(op.getWOut()), bIn = sliceOf(op.getBIn()),
            bOut = sliceOf(op.getBOut());
  if (!in && !out && !bIn && !bOut)
    return "";
  FlatSymbolRefAttr grid = gridOfSlices(in ? in : out ? out : bIn ? bIn : bOut);
  MLIRContext *context = op.getContext();
  int64_t ranks = moe::ranksOf(op, grid);
  auto rows = moe::ShardAttr::get(context, 1, grid, ranks, op.getGated() && !op.getInterleaved());
  if (in != rows || out != moe::ShardAttr::get(context, 2, grid, ranks, false) || (op.getBIn() && bIn != rows) ||
      (op.getBOut() && bOut != moe::OnceAttr::get(context, grid, ranks)))
    return "has slices that do not belong together: one grid divides dimension 1 of 'w_in' and 'b_in' (by halves where "
           "gate and up are halves) and dimension 2 of 'w_out', and #moe.once gives 'b_out' to one of its ranks";
  if (!isAddedOver(grid, op.getResult()))
    return "has slices, and so gives summands: only moe.combine, moe.all_to_all 'return', shard.all_reduce and a "
           "rounding may read what is made of them, until one adds them over the grid of the slices";
  return "";
}

static StringRef whyNotGathered(shard::AllGatherOp op) {
  if (isOfSplitInput(op.getInput(), op.getGridAttr()))
    return "joins what the ranks of a grid have, but is made of inputs that are divided among them ('moe.split')";
  bool isOfPart = areMadeOf(op.getInput(), [&](Value value) {
    auto parameter = value.getDefiningOp<moe::ParameterOp>();
    auto isPart = [&](Attribute step) {
      auto shard = dyn_cast<moe::ShardAttr>(step);
      return shard && shard.getGrid() == op.getGridAttr();
    };
    return parameter && parameter.getRecipe() && llvm::any_of(*parameter.getRecipe(), isPart);
  });
  return isOfPart ? "" : "joins what every rank has all of: no weight that it is made of is divided among the ranks";
}

static StringRef whyNotSum(shard::AllReduceOp op) {
  // Experts at these ranks have been asked the same.
  bool isOfRank = areMadeOf(op.getInput(), [&](Value value) {
    auto dispatch = value.getDefiningOp<moe::DispatchOp>();
    return dispatch && dispatch.getAtAttr() == op.getGridAttr();
  });
  return !isOfRank && isOfSplitInput(op.getInput(), op.getGridAttr())
             ? "adds up what the ranks of a grid have, but is made of inputs that are divided among them ('moe.split')"
             : "";
}

StringRef moe_mlir::whyNotOfRank(Operation *op) {
  if (auto expert = dyn_cast<moe::ExpertOp>(op)) {
    if (StringRef why = whyNotOrdered(expert); !why.empty())
      return why;
    return whyNotSlices(expert);
  }
  auto grid = op->getAttrOfType<FlatSymbolRefAttr>("grid");
  if (grid && moe::groupsOf(op, grid))
    return "names a grid whose ranks are groups, which share weights only; name the grid that it groups";
  if (auto sum = dyn_cast<shard::AllReduceOp>(op))
    return whyNotSum(sum);
  if (auto gather = dyn_cast<shard::AllGatherOp>(op))
    return whyNotGathered(gather);
  if (StringRef why = whyNotShared(op); !why.empty())
    return why;
  if (auto dispatch = dyn_cast<moe::DispatchOp>(op))
  {
    StringRef why = dispatch.getTo() ? whyNotTo(dispatch) : "";
    return why.empty() && dispatch.getAt() ? whyNotAt(dispatch) : why;
  }
  auto exchange = dyn_cast<moe::AllToAllOp>(op);
  if (!exchange || exchange.getInverse())
    return "";
  for (Operation *user : exchange.getResultLayout().getUsers())
    if (!isa<moe::AllToAllOp>(user))
      return "received rows whose layout another op than its moe.all_to_all 'return' uses";
  return "";
}
