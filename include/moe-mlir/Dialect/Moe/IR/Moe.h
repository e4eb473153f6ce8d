//===- Moe.h - gate, dispatch, expert, combine --------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_MOE_H
#define MOE_MLIR_DIALECT_MOE_IR_MOE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "moe-mlir/Dialect/Moe/IR/MoeDialect.h.inc"
#include "moe-mlir/Dialect/Moe/IR/MoeEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeAttrs.h.inc"
#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeOps.h.inc"

#endif // MOE_MLIR_DIALECT_MOE_IR_MOE_H
