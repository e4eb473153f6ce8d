//===- Kernel.h - block programs over tiles -----------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_KERNEL_H
#define MOE_MLIR_DIALECT_KERNEL_IR_KERNEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "moe-mlir/Dialect/Kernel/IR/KernelDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Kernel/IR/KernelAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "moe-mlir/Dialect/Kernel/IR/KernelTypes.h.inc"

namespace mlir::kernel {
/// Why a `kernel.func` cannot have this name, as a text that follows it; empty if it can.
std::string whyNotName(llvm::StringRef name);
} // namespace mlir::kernel

#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Kernel/IR/KernelOps.h.inc"

#endif // MOE_MLIR_DIALECT_KERNEL_IR_KERNEL_H
