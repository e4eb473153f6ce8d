//===- SpecializeRowTiles.cpp - one copy of a row tile for each number of rows ------------------------------------===//
//
// A register tile of 6 rows that computes 3 of them wastes half of its work, and one that tests each row cannot keep
// its accumulators in registers. So each number of rows gets a copy of the region, in which all tile types say exactly
// that many rows.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::kernel;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELSPECIALIZEROWTILES
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

/// The type of a tile of `max` rows when it has `rows` rows; other types stay.
static Type withRows(Type type, int64_t max, int64_t rows) {
  if (auto acc = dyn_cast<AccType>(type); acc && acc.getRows() == max)
    return AccType::get(type.getContext(), rows, acc.getColumns(), acc.getElement());
  if (auto indices = dyn_cast<RowsType>(type); indices && indices.getCount() == max)
    return RowsType::get(type.getContext(), rows);
  return type;
}

/// Clones the region of `tile` at the builder's position for exactly `rows` rows.
static void cloneBody(OpBuilder &builder, RowTileOp tile, int64_t rows) {
  int64_t max = tile.getMax();
  IRMapping mapping;
  for (Operation &op : tile.getBody().front()) {
    Operation *copy = builder.clone(op, mapping);
    copy->walk([&](Operation *nested) {
      for (OpResult result : nested->getResults())
        result.setType(withRows(result.getType(), max, rows));
      for (Region &region : nested->getRegions())
        for (BlockArgument arg : region.getArguments())
          arg.setType(withRows(arg.getType(), max, rows));
    });
  }
}

static void specialize(RowTileOp tile) {
  OpBuilder builder(tile);
  Location loc = tile.getLoc();
  int64_t max = tile.getMax();
  if (std::optional<int64_t> count = getConstantIntValue(tile.getCount())) {
    cloneBody(builder, tile, std::min(*count, max));
    tile.erase();
    return;
  }
  if (max == 1) {
    cloneBody(builder, tile, 1);
    tile.erase();
    return;
  }
  // The full tile is the hot case: one comparison leads to it.
  Value limit = arith::ConstantIndexOp::create(builder, loc, max);
  Value full = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, tile.getCount(), limit);
  auto branch = scf::IfOp::create(builder, loc, full, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  cloneBody(builder, tile, max);
  builder.setInsertionPointToStart(branch.elseBlock());
  SmallVector<int64_t> cases;
  for (int64_t rows = 1; rows < max; ++rows)
    cases.push_back(rows);
  auto choice = scf::IndexSwitchOp::create(builder, loc, TypeRange(), tile.getCount(), cases, cases.size());
  for (auto [rows, region] : llvm::zip(cases, choice.getCaseRegions())) {
    builder.setInsertionPointToStart(&region.emplaceBlock());
    cloneBody(builder, tile, rows);
    scf::YieldOp::create(builder, loc);
  }
  builder.setInsertionPointToStart(&choice.getDefaultRegion().emplaceBlock());
  scf::YieldOp::create(builder, loc);
  tile.erase();
}

namespace {
struct KernelSpecializeRowTiles : kernel::impl::KernelSpecializeRowTilesBase<KernelSpecializeRowTiles> {
  void runOnOperation() override {
    SmallVector<RowTileOp> tiles;
    getOperation().walk([&](RowTileOp tile) { tiles.push_back(tile); }); // inner tiles first
    for (RowTileOp tile : tiles)
      specialize(tile);
  }
};
} // namespace
