//===- Epilogue.cpp - products: what happens to accumulators before they are stored -------------------------------===//
//
// The region of kernel.store_tile, on registers. Neighbours in a row are stored together where that is aligned.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

#include "moe-mlir/Dialect/Kernel/IR/Multiples.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::kernel;

/// Whether elements of even columns of `store` are at even places, and so are rows.
static bool storesPairs(StoreTileOp store) {
  auto type = cast<MemRefType>(store.getDest().getType());
  int64_t columns = type.getShape().back();
  return !store.getLimit() && !ShapedType::isDynamic(columns) && columns % 2 == 0;
}

/// Ops of the region whose results are the same in all rows: reads of a column's bias, and what is made of them.
static SmallVector<Operation *> opsOfColumn(StoreTileOp store) {
  Block &body = store.getBody().front();
  DenseSet<Value> ofRow;
  for (BlockArgument argument : body.getArguments())
    if (argument.getArgNumber() != 1)
      ofRow.insert(argument);
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator()) {
    auto load = dyn_cast<memref::LoadOp>(op);
    bool isMovable = op.getNumRegions() == 0 && (isMemoryEffectFree(&op) || (load && load.getMemRef() != store.getDest()));
    if (isMovable && llvm::none_of(op.getOperands(), [&](Value v) { return ofRow.contains(v); }))
      ops.push_back(&op);
    else
      ofRow.insert(op.result_begin(), op.result_end());
  }
  return ops;
}

LogicalResult Emitter::emitOfColumn(ArrayRef<Operation *> ops, StoreTileOp store, Value column, ColumnValues &results) {
  values[store.getBody().getArgument(1)] = column;
  for (Operation *op : ops) {
    if (failed(emitOp(op)))
      return failure();
    for (Value result : op->getResults())
      results[result] = get(result);
  }
  return success();
}

FailureOr<Value> Emitter::emitStoredValue(StoreTileOp store, Value row, Value column, const ColumnValues &ofColumn,
                                          Value element) {
  Location loc = store.getLoc();
  Block &body = store.getBody().front();
  values[body.getArgument(0)] = row;
  values[body.getArgument(1)] = column;
  for (auto [result, value] : ofColumn)
    values[result] = value;
  for (auto [acc, argument] : llvm::zip(store.getAccs(), body.getArguments().drop_front(2))) {
    const Tile &tile = accumulators.find(acc)->second;
    Type type = emitc::OpaqueType::get(b.getContext(), "moe::Accumulators<" + std::to_string(tile.width) + ">");
    Value number = element;
    if (tile.first)
      number = emitc::AddOp::create(b, loc, b.getI32Type(), element,
                                    literal(loc, b.getI32Type(), std::to_string(tile.first)));
    values[argument] = call(store, b.getF32Type(), "moe::get", {literal(loc, type, tile.name), number});
  }
  for (Operation &op : body.without_terminator())
    if ((op.getNumResults() == 0 || !ofColumn.contains(op.getResult(0))) && failed(emitOp(&op)))
      return failure();
  return get(body.getTerminator()->getOperand(0));
}

LogicalResult Emitter::emitEpilogue(StoreTileOp store, RowTileOp tile) {
  Location loc = store.getLoc();
  for (Value acc : store.getAccs())
    if (!accumulators.contains(acc))
      return report(store, "stores what no product of its row_tile has computed");
  int64_t columns = cast<AccType>(store.getAccs()[0].getType()).getColumns();
  const Buffer &dest = buffers.at(store.getDest());
  Value limit = store.getLimit() ? get(store.getLimit()) : dest.sizes.back();
  Value count = get(tile.getCount()), firstColumn = get(store.getColumn());
  // Where tiles make up the width, a tile has all of its columns or none.
  std::optional<int64_t> width = store.getLimit()
                                     ? getConstantIntValue(store.getLimit())
                                     : std::optional(cast<MemRefType>(store.getDest().getType()).getShape().back());
  bool hasAll =
      width && !ShapedType::isDynamic(*width) && *width % columns == 0 && isMultipleOf(store.getColumn(), columns);
  bool few = isFew();
  if (!few && storesPairs(store))
    return emitPairs(store, columns / 2, count, firstColumn, limit, hasAll);

  const Tile &first = accumulators.find(store.getAccs()[0])->second;
  bool halves = few && first.width < tileRows;
  LogicalResult result = success();
  emitUnrolled(loc, few ? first.width / 2 : columns / 2, [&](Value i) {
    line(loc, "const int element = {};", i);
    // A fragment's rows and columns; with few rows, those of the product are the columns and rows of the tile.
    std::string row = "moe::fragmentRow(moe::threadIndex(), element)";
    std::string column = "moe::fragmentColumn(moe::threadIndex(), element)";
    SmallVector<Value> arguments = {firstColumn};
    if (few) {
      std::swap(row, column);
      (halves ? row : column) += " + " + std::to_string(halves ? first.width : 64) + " * warpgroup";
      column += plusStrip();
      if (strip)
        arguments.push_back(strip);
    } else {
      row += " + 64 * warpgroup";
    }
    line(loc, "const int inTile = " + row + ", column = int({}) + " + column + ";", arguments);
    if (hasAll)
      line(loc, "const bool exists = inTile < int({}) && int({}) < int({});", {count, firstColumn, limit});
    else
      line(loc, "const bool exists = inTile < int({}) && column < int({});", {count, limit});
    Value column64 = literal(loc, b.getI64Type(), "int64_t(column)");
    emitIf(loc, literal(loc, b.getI1Type(), "exists"), [&] {
      FailureOr<StoredAt> at = emitPlace(store, column64);
      FailureOr<Value> value = failure();
      if (succeeded(at))
        value = emitStoredValue(store, at->row, column64, {}, literal(loc, b.getI32Type(), "element"));
      result = success(succeeded(result) && succeeded(value));
      if (succeeded(value))
        emitc::CallOpaqueOp::create(b, loc, TypeRange(), "moe::storeGlobal", ValueRange{at->address, *value});
    });
  });
  return result;
}

LogicalResult Emitter::emitPairs(StoreTileOp store, int64_t elements, Value count, Value firstColumn, Value limit,
                                 bool hasAll) {
  Location loc = store.getLoc();
  Type i1 = b.getI1Type(), i32 = b.getI32Type(), i64 = b.getI64Type();
  SmallVector<Operation *> ofColumn = opsOfColumn(store);
  LogicalResult result = success();
  auto check = [&](LogicalResult next) { result = success(succeeded(result) && succeeded(next)); };
  // A thread has pairs of columns in two rows, 8 apart: what only the columns decide is computed for both.
  auto emitFour = [&](Value i) {
    line(loc, "const int column = int({}) + moe::fragmentColumn(moe::threadIndex(), 4 * {});", {firstColumn, i});
    Value column = literal(loc, i64, "int64_t(column)"), next = literal(loc, i64, "int64_t(column + 1)");
    auto emitRows = [&] {
      ColumnValues first, second;
      check(emitOfColumn(ofColumn, store, column, first));
      check(emitOfColumn(ofColumn, store, next, second));
      emitUnrolled(loc, 2, [&](Value half) {
        line(loc, "const int element = 4 * {} + 2 * {};", {i, half});
        line(loc, "const int inTile = moe::fragmentRow(moe::threadIndex(), element) + 64 * warpgroup;");
        line(loc, "const bool exists = inTile < int({});", count);
        emitIf(loc, literal(loc, i1, "exists"), [&] {
          FailureOr<StoredAt> at = emitPlace(store, column);
          if (failed(at))
            return check(failure());
          FailureOr<Value> left = emitStoredValue(store, at->row, column, first, literal(loc, i32, "element"));
          FailureOr<Value> right = emitStoredValue(store, at->row, next, second, literal(loc, i32, "(element + 1)"));
          if (failed(left) || failed(right))
            return check(failure());
          emitc::CallOpaqueOp::create(b, loc, TypeRange(), "moe::storePair", ValueRange{at->address, *left, *right});
        });
      });
    };
    if (hasAll)
      return emitRows();
    line(loc, "const bool hasColumns = column < int({});", limit);
    emitIf(loc, literal(loc, i1, "hasColumns"), emitRows);
  };
  if (!hasAll) {
    emitUnrolled(loc, elements / 4, emitFour);
    return result;
  }
  line(loc, "const bool hasColumns = int({}) < int({});", {firstColumn, limit});
  emitIf(loc, literal(loc, i1, "hasColumns"), [&] { emitUnrolled(loc, elements / 4, emitFour); });
  return result;
}

FailureOr<Emitter::StoredAt> Emitter::emitPlace(StoreTileOp store, Value column) {
  Block &body = store.getBody().front();
  FailureOr<Value> row = emitRowIndex(store.getRows(), literal(store.getLoc(), b.getI64Type(), "int64_t(inTile)"));
  if (failed(row))
    return failure();
  values[body.getArgument(0)] = *row;
  values[body.getArgument(1)] = column;
  SmallVector<Value> indices(store.getLeading());
  indices.append({body.getArgument(0), body.getArgument(1)});
  return StoredAt{*row, address(store, store.getDest(), indices)};
}
