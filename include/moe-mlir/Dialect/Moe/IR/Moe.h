//===- Moe.h - gate, dispatch, expert, combine --------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_MOE_H
#define MOE_MLIR_DIALECT_MOE_IR_MOE_H

#include "moe-mlir/Support/ShapeCheck.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

#include "moe-mlir/Dialect/Moe/IR/MoeDialect.h.inc"
#include "moe-mlir/Dialect/Moe/IR/MoeEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeAttrs.h.inc"

namespace mlir::moe {
/// Ids are i32, and so is the number of experts.
constexpr int64_t kMaxExperts = std::numeric_limits<int32_t>::max();
/// On a packed parameter, array<i64>: its shape before the pack.
constexpr llvm::StringLiteral kShapeAttr = "moe.shape";
} // namespace mlir::moe

#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeOps.h.inc"

#endif // MOE_MLIR_DIALECT_MOE_IR_MOE_H
