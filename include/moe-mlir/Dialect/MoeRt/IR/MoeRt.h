//===- MoeRt.h - calls of the runtime -----------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOERT_IR_MOERT_H
#define MOE_MLIR_DIALECT_MOERT_IR_MOERT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "moe-mlir/Dialect/MoeRt/IR/MoeRtDialect.h.inc"
#define GET_OP_CLASSES
#include "moe-mlir/Dialect/MoeRt/IR/MoeRtOps.h.inc"

namespace mlir::moert {
/// On a `moert.check`: all ranks find the same.
constexpr llvm::StringLiteral kOfCallAttr = "of_call";
} // namespace mlir::moert

#endif // MOE_MLIR_DIALECT_MOERT_IR_MOERT_H
