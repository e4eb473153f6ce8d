//===- MoeRtDialect.cpp - registration of the moert dialect -------------------------------------------------------===//

#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"
#include "moe-mlir/Support/BodyFormat.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::moert;
using moe_mlir::parseBody, moe_mlir::printBody;

#include "moe-mlir/Dialect/MoeRt/IR/MoeRtDialect.cpp.inc"
#define GET_OP_CLASSES
#include "moe-mlir/Dialect/MoeRt/IR/MoeRtOps.cpp.inc"

void MoeRtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "moe-mlir/Dialect/MoeRt/IR/MoeRtOps.cpp.inc"
      >();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *symbol = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  auto kernel = dyn_cast_or_null<LLVM::LLVMFuncOp>(symbol);
  // The host function is lowered before the kernels are: until then they are functions of their dialect.
  if (!kernel && isa_and_nonnull<FunctionOpInterface>(symbol))
    return success();
  if (!kernel)
    return emitOpError() << "names no llvm.func: " << getKernelAttr();
  MLIRContext *context = kernel->getContext();
  Type ptr = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64);
  auto expected = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {ptr, i64, i64});
  if (kernel.getFunctionType() != expected)
    return emitOpError() << "expected " << getKernelAttr() << " to be " << expected << ", got "
                         << kernel.getFunctionType();
  return success();
}

LogicalResult CheckOp::verify() {
  if ((*this)->hasAttr(kOfCallAttr) && !getValues().empty())
    return emitOpError("is of the call, whose message has no values");
  return success();
}

LogicalResult LaunchOp::verify() {
  if ((getPhases() || getLag()) && !isa<LaunchGroupOp>((*this)->getParentOp()))
    return emitOpError("has phases or a lag, but is not in a moert.launch_group");
  return success();
}

LogicalResult LaunchGroupOp::verify() {
  if (getBody().front().empty())
    return emitOpError("has no launch");
  for (Operation &op : getBody().front())
    if (!isa<LaunchOp>(op))
      return op.emitOpError("stands in a moert.launch_group, which has launches only");
  return success();
}
