//===- Epilogue.cpp - products: what happens to accumulators before they are stored -------------------------------===//
//
// The region of kernel.store_tile, on registers. Neighbours in a row are stored together where that is aligned.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Emitter.h"

#include "moe-mlir/Dialect/Kernel/IR/Multiples.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::kernel;

/// Whether elements of even columns of `store` are at even places, and so are rows.
static bool storesPairs(StoreTileOp store) {
  auto type = cast<MemRefType>(store.getDest().getType());
  int64_t columns = type.getShape().back();
  return !store.getLimit() && !ShapedType::isDynamic(columns) && columns % 2 == 0;
}

FailureOr<Value> Emitter::emitStoredValue(StoreTileOp store, Value row, Value column, Value element) {
  Location loc = store.getLoc();
  Block &body = store.getBody().front();
  values[body.getArgument(0)] = row;
  values[body.getArgument(1)] = column;
  for (auto [acc, argument] : llvm::zip(store.getAccs(), body.getArguments().drop_front(2))) {
    const Tile &tile = accumulators.find(acc)->second;
    Type type = emitc::OpaqueType::get(b.getContext(), "moe::Accumulators<" + std::to_string(tile.width) + ">");
    Value number = element;
    if (tile.first)
      number = emitc::AddOp::create(b, loc, b.getI32Type(), element,
                                    literal(loc, b.getI32Type(), std::to_string(tile.first)));
    values[argument] = call(store, b.getF32Type(), "moe::get", {literal(loc, type, tile.name), number});
  }
  if (failed(emitBlock(body)))
    return failure();
  return get(body.getTerminator()->getOperand(0));
}

LogicalResult Emitter::emitEpilogue(StoreTileOp store, RowTileOp tile) {
  Location loc = store.getLoc();
  for (Value acc : store.getAccs())
    if (!accumulators.contains(acc))
      return report(store, "stores what no product of its row_tile has computed");
  Type i64 = b.getI64Type();
  const Tile &first = accumulators.find(store.getAccs()[0])->second;
  bool few = tileRows == kFewRows, halves = few && first.width < kFewRows, pairs = !few && storesPairs(store);
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
  LogicalResult result = success();
  int64_t elements = few ? first.width / 2 : columns / 2;
  emitUnrolled(loc, pairs ? elements / 2 : elements, [&](Value i) {
    line(loc, Twine("const int element = ") + (pairs ? "2 * {}" : "{}") + ";", i);
    // A fragment's rows and columns; with few rows, those of the product are the columns and rows of the tile.
    std::string row = "moe::fragmentRow(moe::threadIndex(), element)";
    std::string column = "moe::fragmentColumn(moe::threadIndex(), element)";
    SmallVector<Value> arguments = {firstColumn};
    if (few) {
      std::swap(row, column);
      (halves ? row : column) += halves ? " + 8 * warpgroup" : " + 64 * warpgroup";
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
    Value inTile = literal(loc, i64, "int64_t(inTile)"), at = literal(loc, i64, "int64_t(column)");
    emitIf(loc, literal(loc, b.getI1Type(), "exists"),
           [&] { result = success(succeeded(result) && succeeded(emitStore(store, inTile, at, pairs))); });
  });
  return result;
}

LogicalResult Emitter::emitStore(StoreTileOp store, Value inTile, Value column, bool pair) {
  Location loc = store.getLoc();
  Type i32 = b.getI32Type();
  FailureOr<Value> row = emitRowIndex(store.getRows(), inTile);
  if (failed(row))
    return failure();
  FailureOr<Value> value = emitStoredValue(store, *row, column, literal(loc, i32, "element"));
  if (failed(value))
    return failure();
  Block &body = store.getBody().front();
  SmallVector<Value> at(store.getLeading());
  at.append({body.getArgument(0), body.getArgument(1)});
  Value to = address(store, store.getDest(), at);
  if (!pair) {
    emitc::CallOpaqueOp::create(b, loc, TypeRange(), "moe::storeGlobal", ValueRange{to, *value});
    return success();
  }
  Value next = emitc::AddOp::create(b, loc, b.getI64Type(), column, integer(loc, b.getI64Type(), 1));
  FailureOr<Value> second = emitStoredValue(store, *row, next, literal(loc, i32, "(element + 1)"));
  if (failed(second))
    return failure();
  emitc::CallOpaqueOp::create(b, loc, TypeRange(), "moe::storePair", ValueRange{to, *value, *second});
  return success();
}
