//===- TileLoop.cpp - products: which tiles a block computes ------------------------------------------------------===//
//
// The program of a product is a loop over column blocks and records (an expert's rows, or a chunk of rows), and in it a
// loop over tiles of rows. On a GPU the tiles of all these are shared among the blocks, one by one, so that an expert
// with many rows occupies many multiprocessors; their order is that of schedule.cuh. Each block walks over the records
// and takes what is its turn. A record with few rows is shared by strips of columns too.
//
// In front of the tiles the program may wait for other ranks: only the role that loads does, since stages get full
// behind that. Behind them it may arrive at counters: each tile of an iteration arrives with its part. An iteration has
// at least one tile.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "RoleBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

/// Whether `op` waits for other ranks and does nothing else.
static bool isWait(Operation &op) {
  bool waits = false, others = false;
  op.walk([&](Operation *inner) {
    waits |= isa<AwaitOp>(inner);
    others |= !isa<AwaitOp, scf::ForOp>(inner) && !isMemoryEffectFree(inner) &&
              !hasSingleEffect<MemoryEffects::Read>(inner);
  });
  return waits && !others && op.getNumResults() == 0;
}

/// Nothing if the body of `forall` has another form.
std::optional<RoleBuilder::TileLoop> RoleBuilder::tileLoopOf(scf::ForallOp forall, int64_t rows) {
  TileLoop found{forall, nullptr, {}, {}};
  Operation *last = forall.getBody()->getTerminator()->getPrevNode();
  for (; isa_and_nonnull<ArriveOp>(last); last = last->getPrevNode())
    found.arrivals.push_back(cast<ArriveOp>(last));
  auto loop = dyn_cast_or_null<scf::ForOp>(last);
  if (!loop || loop.getNumResults() || getConstantIntValue(loop.getStep()) != rows ||
      !llvm::hasSingleElement(loop.getBody()->getOps<RowTileOp>()))
    return std::nullopt;
  found.rows = loop;
  for (Operation &op : forall.getBody()->without_terminator()) {
    if (isWait(op))
      found.waits.push_back(&op);
    else if (&op != loop.getOperation() && op.getNumRegions() != 0)
      return std::nullopt;
  }
  return found;
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
  std::optional<TileLoop> loop = tileLoopOf(forall, plan.rows);
  scf::ForOp rows = loop ? loop->rows : nullptr;
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
    if (failed(writeTilesOf(*loop, column, columns, before)))
      return failure();
    return true;
  }
  auto records = code.make<scf::ForOp>(code.index(0), valueOf(recordCount), code.index(1), code.i32(0));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(records.getBody());
  mapping.map(record, records.getInductionVar());
  before = records.getRegionIterArg(0);
  if (failed(writeTilesOf(*loop, column, columns, before)))
    return failure();
  code.make<scf::YieldOp>(before);
  return true;
}

/// What the tiles of a record depend on is read before the record's waits are over.
static LogicalResult checkReads(scf::ForallOp forall, ArrayRef<Operation *> waits) {
  for (Operation *wait : waits)
    for (Operation *op = wait->getNextNode(); op; op = op->getNextNode())
      if (auto load = dyn_cast<memref::LoadOp>(op); load && load.getMemRef().getDefiningOp<PartOp>())
        return load.emitOpError("reads a window behind a wait but outside of the tiles of rows; on a GPU, who waits "
                                "loads tiles only");
  return success();
}

LogicalResult RoleBuilder::writeTilesOf(const TileLoop &loop, Value column, Value columns, Value &before) {
  scf::ForallOp forall = loop.forall;
  scf::ForOp rows = loop.rows;
  if (failed(checkReads(forall, loop.waits)))
    return failure();
  Code code(b, forall.getLoc());
  DenseSet<Operation *> later = column ? usersOf(forall, column) : DenseSet<Operation *>();
  auto writeOps = [&](bool writeLater) {
    for (Operation &op : forall.getBody()->without_terminator())
      if (&op != rows.getOperation() && !isa<ArriveOp>(op) && !llvm::is_contained(loop.waits, &op) &&
          later.contains(&op) == writeLater)
        b.clone(op, mapping);
  };
  for (Operation *wait : loop.waits)
    if (later.contains(wait))
      return wait->emitOpError("depends on the columns of a tile; on a GPU, the tiles of a record wait together");
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
  if (!loop.waits.empty()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(tiles);
    code.ifThen(code.isLess(first, count), [&] { writeWaits(loop.waits); });
  }

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
  Value place = code.make<cuda::TileRowOp>(i32, tile, rowTiles, columns), row = code.toIndex(place);
  mapping.map(rows.getInductionVar(), code.add(lower, code.mul(row, plan.rows)));
  writeOps(/*writeLater=*/true);
  LogicalResult written = success();
  for (Operation &op : rows.getBody()->without_terminator())
    written = success(succeeded(written) && succeeded(writeOp(&op)));
  if (!loop.arrivals.empty()) {
    Value part = place, parts = rowTiles;
    if (areShared) {
      part = code.select(isFew, firstStrip, part);
      parts = code.select(isFew, code.i32(plan.strips), parts);
    }
    writeArrivals(loop.arrivals, part, parts);
  }
  firstStrip = lastStrip = Value();
  return written;
}
