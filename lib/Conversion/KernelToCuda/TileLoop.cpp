//===- TileLoop.cpp - products: which tiles a block computes ------------------------------------------------------===//
//
// The program of a product is a loop over column blocks and records (an expert's rows, or a chunk of rows), and in it a
// loop over tiles of rows. On a GPU the tiles of all these are shared among the blocks, one by one, so that an expert
// with many rows occupies many multiprocessors; their order is that of schedule.cuh. Each block walks over the records
// and takes what is its turn. A record with few rows is shared by strips of columns too.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "RoleBuilder.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

/// The loop over tiles of rows that ends the body of `forall`; null if it has another form.
static scf::ForOp rowLoopOf(scf::ForallOp forall, int64_t rows) {
  auto loop = dyn_cast_or_null<scf::ForOp>(forall.getBody()->getTerminator()->getPrevNode());
  if (!loop || loop.getNumResults() || getConstantIntValue(loop.getStep()) != rows)
    return nullptr;
  auto tiles = loop.getBody()->getOps<RowTileOp>();
  bool others = llvm::any_of(forall.getBody()->without_terminator(),
                             [&](Operation &op) { return &op != loop.getOperation() && op.getNumRegions() != 0; });
  return llvm::hasSingleElement(tiles) && !others ? loop : nullptr;
}

/// Ops of the body of `forall` that use one of `values`, also by way of others.
static DenseSet<Operation *> usersOf(scf::ForallOp forall, ArrayRef<Value> values) {
  DenseSet<Operation *> users;
  DenseSet<Value> reached(values.begin(), values.end());
  for (Operation &op : forall.getBody()->without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value operand) { return reached.contains(operand); })) {
      users.insert(&op);
      reached.insert(op.result_begin(), op.result_end());
    }
  return users;
}

FailureOr<bool> RoleBuilder::writeTileLoop(scf::ForallOp forall) {
  scf::ForOp rows = rowLoopOf(forall, plan.rows);
  Value record, column;
  OpFoldResult recordCount, columnCount;
  auto dependsOn = [&](Value bound, Value index) {
    return bound == index || (bound.getDefiningOp() && usersOf(forall, index).contains(bound.getDefiningOp()));
  };
  // The record is what the rows depend on; the other index is that of columns.
  for (auto [index, count] : llvm::zip(forall.getInductionVars(), forall.getMixedUpperBound())) {
    if (rows && !record && (dependsOn(rows.getLowerBound(), index) || dependsOn(rows.getUpperBound(), index))) {
      record = index;
      recordCount = count;
    } else if (column) {
      return false;
    } else {
      column = index;
      columnCount = count;
    }
  }
  if (!rows)
    return false;

  Code code(b, forall.getLoc());
  auto valueOf = [&](OpFoldResult count) {
    auto value = dyn_cast<Value>(count);
    return value ? get(value) : code.index(*getConstantIntValue(count));
  };
  Value columns = column ? code.toI32(valueOf(columnCount)) : code.i32(1), before;
  if (!record) {
    if (failed(writeTilesOf(forall, rows, column, columns, before)))
      return failure();
    return true;
  }
  auto records = code.make<scf::ForOp>(code.index(0), valueOf(recordCount), code.index(1), code.i32(0));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(records.getBody());
  mapping.map(record, records.getInductionVar());
  before = records.getRegionIterArg(0);
  if (failed(writeTilesOf(forall, rows, column, columns, before)))
    return failure();
  code.make<scf::YieldOp>(before);
  return true;
}

LogicalResult RoleBuilder::writeTilesOf(scf::ForallOp forall, scf::ForOp rows, Value column, Value columns,
                                        Value &before) {
  Code code(b, forall.getLoc());
  DenseSet<Operation *> later = column ? usersOf(forall, column) : DenseSet<Operation *>();
  auto writeOps = [&](bool writeLater) {
    for (Operation &op : forall.getBody()->without_terminator())
      if (&op != rows.getOperation() && later.contains(&op) == writeLater)
        b.clone(op, mapping);
  };
  writeOps(/*writeLater=*/false);
  Value lower = get(rows.getLowerBound()), height = code.sub(get(rows.getUpperBound()), lower), isFew;
  Value rowTiles = code.toI32(code.div(code.add(height, plan.rows - 1), plan.rows));
  Value count = code.mul(rowTiles, columns);
  bool areShared = plan.strips > 1;
  if (areShared) {
    isFew = code.compare(arith::CmpIPredicate::sle, height, code.index(plan.fewRows()));
    count = code.mul(count, code.select(isFew, code.i32(plan.strips), code.i32(1)));
  }
  Type i32 = b.getI32Type();
  Value first = before ? code.make<cuda::FirstTileOp>(i32, before).getResult() : code.make<cuda::BlockIndexOp>(i32);
  auto tiles = code.make<scf::ForOp>(first, count, code.make<cuda::BlockCountOp>(i32));
  if (before)
    before = code.add(before, count);

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(tiles.getBody());
  Value tile = tiles.getInductionVar();
  if (areShared) {
    firstStrip = code.select(isFew, code.rem(tile, plan.strips), code.i32(0));
    lastStrip = code.select(isFew, code.add(firstStrip, 1), code.i32(plan.strips));
    tile = code.select(isFew, code.div(tile, plan.strips), tile);
  }
  if (column)
    mapping.map(column, code.toIndex(code.make<cuda::TileColumnOp>(i32, tile, rowTiles, columns)));
  Value row = code.toIndex(code.make<cuda::TileRowOp>(i32, tile, rowTiles, columns));
  mapping.map(rows.getInductionVar(), code.add(lower, code.mul(row, plan.rows)));
  writeOps(/*writeLater=*/true);
  LogicalResult written = success();
  for (Operation &op : rows.getBody()->without_terminator())
    written = success(succeeded(written) && succeeded(writeOp(&op)));
  firstStrip = lastStrip = Value();
  return written;
}
