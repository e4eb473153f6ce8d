//===- SizeContract.cpp - sizes that no tensor can have -----------------------------------------------------------===//

#include "SizeContract.h"

#include "moe-mlir/Analysis/GraphSizes.h"

using namespace mlir;

static LogicalResult verifyTensor(kernel::GraphSizes &sizes, OpResult tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim) {
    if (std::optional<int64_t> size = sizes.size(tensor, dim).getConstant(); size.value_or(0) < 0)
      return tensor.getOwner()->emitOpError() << "dimension " << dim << " of the result would be " << *size;
  }
  return success();
}

LogicalResult moe_mlir::verifySizes(func::FuncOp func) {
  if (func.isExternal() || !llvm::hasSingleElement(func.getBody()))
    return success();
  kernel::GraphSizes sizes(func);
  for (Operation &op : func.front()) {
    // Types that convert-graph-to-kernel refuses.
    if (llvm::any_of(llvm::concat<const Type>(op.getOperandTypes(), op.getResultTypes()),
                     llvm::IsaPred<UnrankedTensorType>))
      continue;
    sizes.visit(&op); // in order, so that no chain of sizes is deep
    for (OpResult tensor : op.getResults())
      if (failed(verifyTensor(sizes, tensor)))
        return failure(); // its users have such sizes, too
  }
  return success();
}
