//===- NnDialect.cpp - registration of the nn dialect -------------------------------------------------------------===//

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::nn;

#include "moe-mlir/Dialect/Nn/IR/NnDialect.cpp.inc"

void NnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "moe-mlir/Dialect/Nn/IR/NnOps.cpp.inc"
      >();
}
