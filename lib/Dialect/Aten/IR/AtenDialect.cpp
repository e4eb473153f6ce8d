//===- AtenDialect.cpp - registration of the aten dialect --------------------------------------------------------===//

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::aten;

#include "moe-mlir/Dialect/Aten/IR/AtenDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Aten/IR/AtenAttrs.cpp.inc"

void AtenDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe-mlir/Dialect/Aten/IR/AtenAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "moe-mlir/Dialect/Aten/IR/AtenOps.cpp.inc"
      >();
}
