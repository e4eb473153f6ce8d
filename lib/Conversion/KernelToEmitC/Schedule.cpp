//===- Schedule.cpp - products: which tiles a block computes ------------------------------------------------------===//
//
// The program of a product is a loop over column blocks and records (an expert's rows, or a chunk of rows), and in it a
// loop over tiles of rows. On a GPU the tiles of all these are shared among the blocks, one by one, so that an expert
// with many rows occupies many multiprocessors; their order is that of schedule.cuh. Each block walks over the records
// and takes what is its turn. A record with few rows is shared by strips of columns too.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
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

FailureOr<bool> Emitter::emitTileLoop(scf::ForallOp forall, ArrayRef<Value> counts) {
  scf::ForOp rows = plan ? rowLoopOf(forall, plan->rows) : nullptr;
  Value record, recordCount;
  SmallVector<Value> columns, columnCounts;
  auto dependsOn = [&](Value bound, Value index) {
    return bound == index || (bound.getDefiningOp() && usersOf(forall, index).contains(bound.getDefiningOp()));
  };
  // The record is what the rows depend on; the other index is that of columns.
  for (auto [index, count] : llvm::zip(forall.getInductionVars(), counts)) {
    if (rows && !record && (dependsOn(rows.getLowerBound(), index) || dependsOn(rows.getUpperBound(), index))) {
      record = index;
      recordCount = count;
    } else {
      columns.push_back(index);
      columnCounts.push_back(count);
    }
  }
  if (!rows || columns.size() > 1)
    return false;

  Location loc = forall.getLoc();
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  DenseSet<Operation *> later = usersOf(forall, columns);
  auto emitOps = [&](bool emitLater) -> LogicalResult {
    for (Operation &op : forall.getBody()->without_terminator())
      if (&op != rows.getOperation() && later.contains(&op) == emitLater && failed(emitOp(&op)))
        return failure();
    return success();
  };
  OpBuilder::InsertionGuard guard(b);
  if (record) {
    line(loc, "int before = 0;");
    auto records = emitc::ForOp::create(b, loc, integer(loc, i64, 0), recordCount, integer(loc, i64, 1));
    b.setInsertionPointToStart(records.getBody());
    values[record] = records.getBody()->getArgument(0);
  }
  if (failed(emitOps(/*emitLater=*/false)))
    return failure();
  Value lower = get(rows.getLowerBound()), upper = get(rows.getUpperBound());
  Value width = columns.empty() ? integer(loc, i64, 1) : columnCounts[0];
  std::string height = std::to_string(plan->rows), strips = std::to_string(plan->strips);
  bool areShared = plan->strips > 1;
  line(loc,
       "const int rowTiles = int((({}) - ({}) + " + Twine(plan->rows - 1) + ") / " + height +
           "), columnTiles = int({});",
       {upper, lower, width});
  if (areShared)
    line(loc, "const bool isFew = ({}) - ({}) <= " + Twine(plan->fewRows()) + ";", {upper, lower});
  line(loc, areShared ? "const int tiles = rowTiles * columnTiles * (isFew ? " + strips + " : 1);"
                      : "const int tiles = rowTiles * columnTiles;");
  std::string first = record ? "moe::firstTile(before)" : "moe::blockIndex()";
  auto tiles = emitc::ForOp::create(b, loc, literal(loc, i32, first), literal(loc, i32, "tiles"),
                                    literal(loc, i32, "moe::blockCount()"));
  if (record)
    line(loc, "before += tiles;");
  b.setInsertionPointToStart(tiles.getBody());
  Value tile = tiles.getBody()->getArgument(0);
  if (areShared) {
    line(loc,
         "const int firstStrip = isFew ? {} % " + strips + " : 0, lastStrip = isFew ? firstStrip + 1 : " + strips + ";",
         tile);
    line(loc, "const moe::TilePlace place = moe::tilePlace(isFew ? {} / " + strips + " : {}, rowTiles, columnTiles);",
         {tile, tile});
  } else {
    line(loc, "const moe::TilePlace place = moe::tilePlace({}, rowTiles, columnTiles);", tile);
  }
  if (!columns.empty())
    values[columns[0]] = literal(loc, i64, "int64_t(place.column)");
  values[rows.getInductionVar()] =
      emitc::AddOp::create(b, loc, i64, lower, literal(loc, i64, "int64_t(place.row) * " + height));
  hasStrips = areShared;
  LogicalResult written = emitOps(/*emitLater=*/true);
  if (succeeded(written))
    written = emitBlock(*rows.getBody());
  hasStrips = false;
  if (failed(written))
    return failure();
  return true;
}
