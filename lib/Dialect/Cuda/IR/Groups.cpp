//===- Groups.cpp - kernels that share the blocks of a launch -----------------------------------------------------===//

#include "moe-mlir/Dialect/Cuda/IR/Block.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"

using namespace mlir;
using namespace mlir::cuda;

LogicalResult MemberOp::verify() {
  if (!isa_and_nonnull<kernel::FuncOp>((*this)->getParentOp()))
    return emitOpError("is not at the top level of a kernel, whose blocks members share");
  if (getBlocks() && static_cast<int64_t>(*getBlocks()) < 1)
    return emitOpError() << "has " << static_cast<int64_t>(*getBlocks()) << " blocks; a member has at least one";
  for (Operation &op : (*this)->getBlock()->without_terminator()) {
    auto other = dyn_cast<MemberOp>(op);
    if (!other)
      return op.emitOpError("stands among cuda.member, which share all blocks of their kernel");
    if (other != *this && !getBlocks() && !other.getBlocks())
      return emitOpError("has no 'blocks', and neither has another member; one takes those that are left");
  }
  return success();
}

LogicalResult MemberOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee = symbols.lookupNearestSymbolFrom<kernel::FuncOp>(*this, getKernelAttr());
  if (!callee)
    return emitOpError() << "names no kernel: " << getKernelAttr();
  if (!callee.getBody().getOps<MemberOp>().empty())
    return emitOpError() << "names " << getKernelAttr() << ", which has members itself";
  if (TypeRange(callee.getFunctionType().getInputs()) != TypeRange(getOperands_()))
    return emitOpError() << "passes " << getOperands_().getTypes() << " to " << getKernelAttr() << ", which takes "
                         << callee.getFunctionType().getInputs();
  return success();
}
