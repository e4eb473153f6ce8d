//===- X86Dialect.cpp - registration and attributes of the x86 dialect --------------------------------------------===//

#include "moe-mlir/Dialect/X86/IR/X86.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::x86;

#include "moe-mlir/Dialect/X86/IR/X86Dialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/X86/IR/X86Attrs.cpp.inc"

void X86Dialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe-mlir/Dialect/X86/IR/X86Attrs.cpp.inc"
      >();
}
