//===- X86.h - x86 processors as targets --------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_X86_IR_X86_H
#define MOE_MLIR_DIALECT_X86_IR_X86_H

#include "moe-mlir/Dialect/Kernel/IR/Target.h"

#include "mlir/IR/Dialect.h"
#include "llvm/ADT/StringSet.h"

#include "moe-mlir/Dialect/X86/IR/X86Dialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/X86/IR/X86Attrs.h.inc"

#endif // MOE_MLIR_DIALECT_X86_IR_X86_H
