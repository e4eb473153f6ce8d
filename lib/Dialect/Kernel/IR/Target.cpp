//===- Target.cpp - the device that kernels are made for ----------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Target.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kernel;

#include "moe-mlir/Dialect/Kernel/IR/KernelAttrInterfaces.cpp.inc"

ProductTiles mlir::kernel::plainTiles(Type element) {
  ProductTiles tiles;
  tiles.depth = element.isBF16() ? 2 : 1;
  return tiles;
}

TargetAttrInterface mlir::kernel::targetOf(ModuleOp module) {
  return dyn_cast_or_null<TargetAttrInterface>(module->getAttr(targetAttrName));
}

bool mlir::kernel::isOffloaded(ModuleOp module) {
  TargetAttrInterface target = targetOf(module);
  return target && !target.isHost();
}
