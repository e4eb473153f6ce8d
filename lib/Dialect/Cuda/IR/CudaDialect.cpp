//===- CudaDialect.cpp - registration of the cuda dialect --------------------------------------------------------===//

#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Support/BodyFormat.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::cuda;
using moe_mlir::parseBody, moe_mlir::printBody;

#include "moe-mlir/Dialect/Cuda/IR/CudaDialect.cpp.inc"
#include "moe-mlir/Dialect/Cuda/IR/CudaEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Cuda/IR/CudaAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "moe-mlir/Dialect/Cuda/IR/CudaTypes.cpp.inc"

#include "moe-mlir/Dialect/Cuda/IR/CudaOpInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Cuda/IR/CudaOps.cpp.inc"

void CudaDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe-mlir/Dialect/Cuda/IR/CudaAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "moe-mlir/Dialect/Cuda/IR/CudaTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "moe-mlir/Dialect/Cuda/IR/CudaOps.cpp.inc"
      >();
}
