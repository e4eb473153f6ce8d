//===- TypeSizes.cpp - types that no machine can hold -----------------------------------------------------------===//

#include "moe-mlir/Support/UntrustedIr.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

static constexpr int64_t maxElements = int64_t(1) << 44;

bool moe_mlir::hasTooManyElements(ArrayRef<int64_t> sizes) {
  // A size of 0 makes all others harmless only if their product is never formed; nobody promises that.
  int64_t count = 1;
  for (int64_t size : sizes)
    if (!ShapedType::isDynamic(size) && size > 0 && (llvm::MulOverflow(count, size, count) || count > maxElements))
      return true;
  return false;
}

LogicalResult moe_mlir::checkTypeSizes(ModuleOp module) {
  // The walker remembers what it has seen: attributes and types of all ops are looked at once.
  Type found;
  AttrTypeWalker walker;
  walker.addWalk([&](ShapedType type) {
    if (!type.hasRank() || !hasTooManyElements(type.getShape()))
      return WalkResult::advance();
    found = type;
    return WalkResult::interrupt();
  });
  auto isFine = [&](auto value) { return !walker.walk(value).wasInterrupted(); };
  WalkResult result = module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool fine = isFine(op->getAttrDictionary()) && llvm::all_of(op->getResultTypes(), isFine);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        fine &= llvm::all_of(block.getArgumentTypes(), isFine);
    if (fine)
      return WalkResult::advance();
    // Not emitOpError: that may print the op, which has not been verified.
    emitError(op->getLoc()) << "'" << op->getName() << "' has the type " << found
                            << ", which no machine can hold (more than 2^44 elements)";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
