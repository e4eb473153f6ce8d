//===- KernelClasses.cpp - the generated classes of the kernel ops, and their registration ------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Support/BodyFormat.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mlir::kernel;
using moe_mlir::parseBody, moe_mlir::printBody;

#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Kernel/IR/KernelOps.cpp.inc"

void KernelDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "moe-mlir/Dialect/Kernel/IR/KernelOps.cpp.inc"
      >();
}
