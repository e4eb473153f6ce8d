//===- Tiles.cpp - the parts of which programs with products are made -------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::kernel;

SmallVector<Value> mlir::kernel::emitProduct(KernelBuilder &kernel, int64_t rows, int64_t columns, Value a,
                                             Value tileRows, Value b, ValueRange indices, Value lower, Value upper,
                                             ArrayRef<Value> firstColumns) {
  auto type = AccType::get(kernel.getContext(), rows, columns, kernel.getF32Type());
  auto weight = cast<MemRefType>(b.getType());
  // [indices..., K, C], or [indices..., K / step, C, step].
  int64_t step = weight.getRank() == static_cast<int64_t>(indices.size()) + 3 ? weight.getShape().back() : 1;
  SmallVector<Value> zeros(firstColumns.size());
  for (Value &zero : zeros)
    zero = ZeroOp::create(kernel, type);
  return kernel.loop(lower, upper, step, zeros, [&](Value k, ValueRange accs) {
    SmallVector<Value> next;
    for (auto [acc, column] : llvm::zip(accs, firstColumns))
      next.push_back(MmaOp::create(kernel, type, acc, a, tileRows, b, indices, k, column));
    return next;
  });
}

Value mlir::kernel::emitRows(KernelBuilder &kernel, int64_t rows, Value base, llvm::function_ref<Value(Value)> map) {
  auto op = RowIndicesOp::create(kernel, RowsType::get(kernel.getContext(), rows), base);
  OpBuilder::InsertionGuard guard(kernel);
  Block &block = op.getBody().emplaceBlock();
  Value row = block.addArgument(kernel.getIndexType(), kernel.getLoc());
  kernel.setInsertionPointToStart(&block);
  YieldOp::create(kernel, map(row));
  return op.getResult();
}

void mlir::kernel::emitRowTile(KernelBuilder &kernel, int64_t rows, Value count, KernelBuilder::Body body) {
  auto op = RowTileOp::create(kernel, count, rows);
  OpBuilder::InsertionGuard guard(kernel);
  kernel.setInsertionPointToStart(&op.getBody().emplaceBlock());
  body();
}

void mlir::kernel::emitStoreTile(KernelBuilder &kernel, ValueRange accumulators, Value dest, Value rows, Value column,
                                 llvm::function_ref<Value(ValueRange)> body, Value limit) {
  auto op = StoreTileOp::create(kernel, accumulators, dest, ValueRange(), rows, column, limit);
  OpBuilder::InsertionGuard guard(kernel);
  Block &block = op.getBody().emplaceBlock();
  block.addArguments({kernel.getIndexType(), kernel.getIndexType()}, {kernel.getLoc(), kernel.getLoc()});
  for (Value acc : accumulators)
    block.addArgument(cast<AccType>(acc.getType()).getElement(), kernel.getLoc());
  kernel.setInsertionPointToStart(&block);
  Value result = body(block.getArguments());
  YieldOp::create(kernel, kernel.convert(result, cast<MemRefType>(dest.getType()).getElementType()));
}
