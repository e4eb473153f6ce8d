//===- RankStrides.cpp - where the ranks of a program's grids stand among all of them -----------------------------===//

#include "RankStrides.h"

#include "moe-mlir/Dialect/Moe/IR/Groups.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace moe_mlir;

RankStrides::RankStrides(ModuleOp module) {
  auto nameOf = [](shard::GridOp grid) { return FlatSymbolRefAttr::get(grid.getSymNameAttr()); };
  auto ranksOf = [&](shard::GridOp grid) { return moe::ranksOf(grid, nameOf(grid)); };
  auto groupedBy = [&](shard::GridOp grid) { return moe::groupsOf(grid, nameOf(grid)); };
  for (auto grid : module.getOps<shard::GridOp>()) {
    if (moe::axisOf(grid) || groupedBy(grid))
      continue;
    for (auto &before : grids)
      before.second.stride *= ranksOf(grid);
    grids[grid.getSymName()] = {1, ranksOf(grid)};
    all *= ranksOf(grid);
  }
  for (auto grid : module.getOps<shard::GridOp>()) {
    if (std::optional<moe::GridAxis> axis = moe::axisOf(grid)) {
      grids[grid.getSymName()] = {of(axis->grid.getValue()).stride * axis->behind, ranksOf(grid)};
    } else if (FlatSymbolRefAttr grouped = groupedBy(grid)) {
      const RankStride members = of(grouped.getValue());
      grids[grid.getSymName()] = {members.stride * (members.ranks / ranksOf(grid)), ranksOf(grid)};
    }
  }
}
