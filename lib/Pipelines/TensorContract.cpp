//===- TensorContract.cpp - what products and tables that ranks share must keep -----------------------------------===//
//
// A product with a part of its rows makes a part of the columns, which stays one until a product with a part of its
// columns sums over it, a norm adds its squares, or shard.all_gather joins what all ranks have. The second product, and
// a part of a table, give summands.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "RankContract.h"

#include "moe-mlir/Dialect/Moe/IR/Groups.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace moe_mlir;

/// The step of a parameter's recipe for ranks; null if every rank has all of it, or the value is no parameter.
static Attribute partOf(Value value) {
  auto parameter = value ? value.getDefiningOp<moe::ParameterOp>() : moe::ParameterOp();
  Attribute part;
  for (Attribute step : parameter && parameter.getRecipe() ? parameter.getRecipe()->getValue() : ArrayRef<Attribute>())
    if (isa<moe::ShardAttr, moe::OnceAttr>(step))
      part = step;
  return part;
}

/// Whether all that is made of a value, of which ranks of `grid` have parts, is whole again before a caller sees it, or
/// an op that needs all of it.
static bool isJoinedOver(FlatSymbolRefAttr grid, Value part) {
  llvm::SetVector<std::pair<Value, Attribute>> pending; // and the grid that has its parts
  pending.insert({part, grid});
  for (unsigned i = 0; i < pending.size(); ++i) {
    Value value = pending[i].first;
    auto own = cast<FlatSymbolRefAttr>(pending[i].second);
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto exit = dyn_cast<func::ReturnOp>(user)) {
        auto func = cast<func::FuncOp>(exit->getParentOp());
        if (!func.getResultAttr(use.getOperandNumber(), "moe.state_of"))
          return false;
        continue;
      }
      if (auto linear = dyn_cast<nn::LinearOp>(user)) {
        auto columns = dyn_cast_if_present<moe::ShardAttr>(partOf(linear.getWeight()));
        if (columns && columns.getDim() == 1 && columns.getGrid() == own)
          continue;
      }
      FlatSymbolRefAttr all = moe::groupsOf(user, own), made = own;
      auto sum = dyn_cast<shard::AllReduceOp>(user);
      auto join = dyn_cast<shard::AllGatherOp>(user);
      if (sum && (sum.getGridAttr() == own || sum.getGridAttr() == all)) {
        // Of each row a number, as a norm's sum of squares; columns of several ranks are not to be added.
        if (cast<ShapedType>(sum.getInput().getType()).getShape().back() != 1)
          return false;
        continue;
      }
      if ((join && join.getGridAttr() == own) || isa<tensor::DimOp>(user))
        continue;
      if (isa<moe::GateOp, moe::DispatchOp, moe::CombineOp, moe::ExpertOp>(user))
        return false;
      // Heads of keys that neighbours share are read by heads of queries, of which each rank has its own.
      if (all && isa<nn::AttentionOp>(user))
        made = all;
      // The body of an op may read it by index.
      Operation *holder = user;
      while (holder->getBlock() != value.getParentBlock())
        holder = holder->getParentOp();
      for (Value result : holder->getResults())
        pending.insert({result, made});
    }
  }
  return true;
}

static StringRef whyNotProduct(nn::LinearOp op) {
  auto weight = dyn_cast_if_present<moe::ShardAttr>(partOf(op.getWeight()));
  Attribute bias = partOf(op.getBias());
  if (!weight)
    return bias ? "has a part of a bias and all of its weight; give both one #moe.shard of dimension 0, or none" : "";
  if (weight.getHalves())
    return "has a weight that is divided by halves, which only experts have; remove 'halves' from its #moe.shard";
  MLIRContext *context = op.getContext();
  if (weight.getDim() == 1) {
    if (op.getBias() && bias != moe::OnceAttr::get(context, weight.getGrid(), weight.getRanks()))
      return "gives summands, to which every rank would add the bias; #moe.once gives it to one rank of the grid";
    return isAddedOver(weight.getGrid(), op.getResult())
               ? ""
               : "has a part of the columns of its weight, and so gives summands: only a rounding and a "
                 "shard.all_reduce over the same grid may read them";
  }
  if (op.getBias() && bias != weight)
    return "has a part of the rows of its weight and another part of its bias; give both one #moe.shard of dimension 0";
  return isJoinedOver(weight.getGrid(), op.getResult())
             ? ""
             : "has a part of the rows of its weight, and what is made of its result goes to a caller, or to an op "
               "that needs all of it, or ranks add different columns: a shard.all_gather or a product with that part "
               "of its columns has to come before";
}

static StringRef whyNotBatch(nn::BatchLinearOp op) {
  auto weight = dyn_cast_if_present<moe::ShardAttr>(partOf(op.getWeight()));
  if (op.getBias() && partOf(op.getBias()) != weight)
    return "has a part of a weight or a bias and not the same one of the other; give both one #moe.shard of dimension "
           "0, or none";
  if (!weight)
    return "";
  if (weight.getDim() != 0 || weight.getHalves())
    return "has a part of each matrix; ranks have whole ones, by a #moe.shard of dimension 0 without 'halves'";
  return isJoinedOver(weight.getGrid(), op.getResult())
             ? ""
             : "has some of the matrices, and what is made of its result goes to a caller, or to an op that needs all "
               "of it, or ranks add different columns: a shard.all_gather or a product with that part of its columns "
               "has to come before";
}

static StringRef whyNotTable(nn::EmbeddingOp op) {
  auto rows = dyn_cast_if_present<moe::ShardAttr>(partOf(op.getTable()));
  FlatSymbolRefAttr grid = rows && rows.getDim() == 0 ? rows.getGrid() : FlatSymbolRefAttr();
  if (grid != op.getAtAttr())
    return "and its table name two grids, or only one of them does: a part of the rows needs 'at' its grid";
  if (grid && rows.getHalves())
    return "has a table that is divided by halves, but ids count its rows in their order; remove 'halves' from its "
           "#moe.shard";
  return !grid || isAddedOver(grid, op.getResult())
             ? ""
             : "has a part of a table, and so gives summands: only a rounding and a shard.all_reduce over its grid may "
               "read them";
}

StringRef moe_mlir::whyNotShared(Operation *op) {
  if (auto linear = dyn_cast<nn::LinearOp>(op))
    return whyNotProduct(linear);
  if (auto batch = dyn_cast<nn::BatchLinearOp>(op))
    return whyNotBatch(batch);
  if (auto embedding = dyn_cast<nn::EmbeddingOp>(op))
    return whyNotTable(embedding);
  return "";
}
