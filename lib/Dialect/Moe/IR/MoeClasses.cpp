//===- MoeClasses.cpp - the generated classes of the moe attributes and types, and their registration -------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moe;

#include "moe-mlir/Dialect/Moe/IR/MoeEnums.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeAttrs.cpp.inc"

void MoeDialect::registerAttributesAndTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "moe-mlir/Dialect/Moe/IR/MoeTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe-mlir/Dialect/Moe/IR/MoeAttrs.cpp.inc"
      >();
}
