//===- NnDialect.cpp - the generated classes of the nn dialect, and their registration -------------------------------===//

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::nn;

#include "moe-mlir/Dialect/Nn/IR/NnDialect.cpp.inc"
#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Nn/IR/NnOps.cpp.inc"

void NnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "moe-mlir/Dialect/Nn/IR/NnOps.cpp.inc"
      >();
}
