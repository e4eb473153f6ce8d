//===- Epilogue.cpp - products: what happens to accumulators before they are stored -------------------------------===//
//
// The region of kernel.store_tile, on registers. Neighbours in a row are stored together where that is aligned.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "RoleBuilder.h"

#include "moe-mlir/Dialect/Kernel/IR/Multiples.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

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
    bool isMovable =
        op.getNumRegions() == 0 && (isMemoryEffectFree(&op) || (load && load.getMemRef() != store.getDest()));
    if (isMovable && llvm::none_of(op.getOperands(), [&](Value v) { return ofRow.contains(v); }))
      ops.push_back(&op);
    else
      ofRow.insert(op.result_begin(), op.result_end());
  }
  return ops;
}

MultiplyBuilder::ColumnValues MultiplyBuilder::writeOfColumn(ArrayRef<Operation *> ops, StoreTileOp store,
                                                             Value column) {
  mapping.map(store.getBody().getArgument(1), column);
  ColumnValues results;
  for (Operation *op : ops) {
    b.clone(*op, mapping);
    for (Value result : op->getResults())
      results[result] = get(result);
  }
  return results;
}

Value MultiplyBuilder::storedValue(StoreTileOp store, Value row, Value column, const ColumnValues &ofColumn,
                                   Value element) {
  Code code(b, store.getLoc());
  Block &body = store.getBody().front();
  mapping.map(body.getArgument(0), row);
  mapping.map(body.getArgument(1), column);
  for (auto [result, value] : ofColumn)
    mapping.map(result, value);
  for (auto [acc, argument] : llvm::zip(store.getAccs(), body.getArguments().drop_front(2))) {
    const Tile &tile = tiles.find(acc)->second;
    mapping.map(argument,
                code.make<cuda::GetOp>(b.getF32Type(), tile.accumulators, code.add(element, tile.first)).getResult());
  }
  for (Operation &op : body.without_terminator())
    if (op.getNumResults() == 0 || !ofColumn.contains(op.getResult(0)))
      b.clone(op, mapping);
  return get(body.getTerminator()->getOperand(0));
}

SmallVector<Value> MultiplyBuilder::placeOf(StoreTileOp store, Value row, Value column) {
  SmallVector<Value> indices = llvm::map_to_vector(store.getLeading(), [&](Value index) { return get(index); });
  indices.append({row, column});
  return indices;
}

LogicalResult MultiplyBuilder::writeStore(StoreTileOp store, RowTileOp tile) {
  Code code(b, store.getLoc());
  int64_t columns = cast<AccType>(store.getAccs()[0].getType()).getColumns();
  auto destType = cast<MemRefType>(store.getDest().getType());
  Value limit =
      code.toI32(store.getLimit() ? get(store.getLimit()) : sizeOf(code, store.getDest(), destType.getRank() - 1));
  // Where tiles make up the width, a tile has all of its columns or none.
  std::optional<int64_t> width =
      store.getLimit() ? getConstantIntValue(store.getLimit()) : std::optional(destType.getShape().back());
  bool hasAll =
      width && !ShapedType::isDynamic(*width) && *width % columns == 0 && isMultipleOf(store.getColumn(), columns);
  if (!areFew() && storesPairs(store)) {
    writePairs(store, tile, limit, hasAll);
    return success();
  }

  Value firstColumn = code.toI32(get(store.getColumn())), count = code.toI32(get(tile.getCount()));
  const Tile &first = tiles.find(store.getAccs()[0])->second;
  bool halves = areFew() && first.width < tileRows;
  code.unrolled(areFew() ? first.width / 2 : columns / 2, [&](Value element) {
    // A fragment's rows and columns; with few rows, those of the product are the columns and rows of the tile.
    Value row = code.make<cuda::FragmentRowOp>(b.getI32Type(), thread(code), element);
    Value column = code.make<cuda::FragmentColumnOp>(b.getI32Type(), thread(code), element);
    if (areFew()) {
      std::swap(row, column);
      Value &share = halves ? row : column;
      share = code.add(share, code.mul(warpgroup(code), halves ? first.width : 64));
      column = plusStrip(code, column);
    } else {
      row = code.add(row, code.mul(warpgroup(code), 64));
    }
    column = code.add(firstColumn, column);
    Value hasColumn = code.isLess(hasAll ? firstColumn : column, limit);
    code.ifThen(code.areBoth(code.isLess(row, count), hasColumn), [&] {
      Value at = rowIndex(store.getRows(), code.toIndex(row)), column64 = code.toIndex(column);
      Value value = storedValue(store, at, column64, {}, element);
      code.make<memref::StoreOp>(value, get(store.getDest()), placeOf(store, at, column64));
    });
  });
  return success();
}

void MultiplyBuilder::writePairs(StoreTileOp store, RowTileOp tile, Value limit, bool hasAll) {
  Code code(b, store.getLoc());
  Value firstColumn = code.toI32(get(store.getColumn())), count = code.toI32(get(tile.getCount()));
  int64_t columns = cast<AccType>(store.getAccs()[0].getType()).getColumns();
  SmallVector<Operation *> ofColumn = opsOfColumn(store);
  // A thread has pairs of columns in two rows, 8 apart: what only the columns decide is computed for both.
  auto writeFour = [&](Value i) {
    Value element = code.mul(i, 4);
    Value column = code.add(firstColumn, code.make<cuda::FragmentColumnOp>(b.getI32Type(), thread(code), element));
    auto writeRows = [&] {
      Value here = code.toIndex(column), next = code.toIndex(code.add(column, 1));
      ColumnValues first = writeOfColumn(ofColumn, store, here), second = writeOfColumn(ofColumn, store, next);
      code.unrolled(2, [&](Value half) {
        Value left = code.add(element, code.mul(half, 2)), right = code.add(left, 1);
        Value row = code.make<cuda::FragmentRowOp>(b.getI32Type(), thread(code), left);
        row = code.add(row, code.mul(warpgroup(code), 64));
        code.ifThen(code.isLess(row, count), [&] {
          Value at = rowIndex(store.getRows(), code.toIndex(row));
          Value stored = storedValue(store, at, here, first, left);
          Value neighbour = storedValue(store, at, next, second, right);
          code.make<cuda::StorePairOp>(get(store.getDest()), placeOf(store, at, here), stored, neighbour);
        });
      });
    };
    if (hasAll)
      writeRows();
    else
      code.ifThen(code.isLess(column, limit), writeRows);
  };
  if (hasAll)
    code.ifThen(code.isLess(firstColumn, limit), [&] { code.unrolled(columns / 8, writeFour); });
  else
    code.unrolled(columns / 8, writeFour);
}
