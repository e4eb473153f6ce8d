//===- MoeDialect.cpp - registration of the moe dialect -----------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

using namespace mlir;
using namespace mlir::moe;

#include "moe-mlir/Dialect/Moe/IR/MoeDialect.cpp.inc"

void MoeDialect::initialize() {
  registerAttributesAndTypes();
  addOperations<
#define GET_OP_LIST
#include "moe-mlir/Dialect/Moe/IR/MoeOps.cpp.inc"
      >();
}
