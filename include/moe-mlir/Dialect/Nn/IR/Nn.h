//===- Nn.h - transformer operations with fused kernels ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_NN_IR_NN_H
#define MOE_MLIR_DIALECT_NN_IR_NN_H

#include "moe-mlir/Support/ShapeCheck.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "moe-mlir/Dialect/Nn/IR/NnDialect.h.inc"
#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Nn/IR/NnOps.h.inc"

#endif // MOE_MLIR_DIALECT_NN_IR_NN_H
