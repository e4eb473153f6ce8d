//===- Prepare.cpp - what a graph may hold that no pattern converts -----------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;
using namespace mlir::kernel;

MemRefType mlir::kernel::encodedCacheType(RankedTensorType cache, StringRef encoding) {
  int64_t pairs = pairsOf(cache.getElementType()), length = cache.getDimSize(2), depth = cache.getDimSize(3);
  SmallVector<int64_t> shape = {cache.getDimSize(0), cache.getDimSize(1)};
  auto ceil = [](int64_t size, int64_t by) {
    return ShapedType::isDynamic(size) ? size : static_cast<int64_t>(llvm::divideCeil(size, by));
  };
  if (encoding == keyEncoding)
    shape.append({ceil(length, keysPerBlock), ceil(depth, pairs), keysPerBlock});
  else
    shape.append({ceil(length, pairs), ceil(depth, 16) * 16});
  if (pairs > 1)
    shape.push_back(pairs);
  return MemRefType::get(shape, cache.getElementType());
}

void mlir::kernel::dropUnusedGrids(ModuleOp module) {
  for (auto grid : llvm::make_early_inc_range(module.getOps<shard::GridOp>()))
    if (SymbolTable::symbolKnownUseEmpty(grid, module))
      grid.erase();
}

void mlir::kernel::dropPoison(ModuleOp module) {
  module.walk([](ub::PoisonOp poison) {
    if (!poison.getType().isIntOrIndexOrFloat())
      return;
    OpBuilder b(poison);
    poison.replaceAllUsesWith(
        arith::ConstantOp::create(b, poison.getLoc(), b.getZeroAttr(poison.getType())).getResult());
    poison.erase();
  });
}
