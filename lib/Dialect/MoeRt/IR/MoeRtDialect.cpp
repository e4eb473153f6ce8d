//===- MoeRtDialect.cpp - registration of the moert dialect ----------------------------------------------------------===//

#include "moe-mlir/Dialect/MoeRt/IR/MoeRt.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::moert;

#include "moe-mlir/Dialect/MoeRt/IR/MoeRtDialect.cpp.inc"
#define GET_OP_CLASSES
#include "moe-mlir/Dialect/MoeRt/IR/MoeRtOps.cpp.inc"

void MoeRtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "moe-mlir/Dialect/MoeRt/IR/MoeRtOps.cpp.inc"
      >();
}
