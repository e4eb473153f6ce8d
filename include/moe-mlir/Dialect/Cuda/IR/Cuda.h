//===- Cuda.h - kernels for NVIDIA GPUs -----------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDA_H
#define MOE_MLIR_DIALECT_CUDA_IR_CUDA_H

#include "moe-mlir/Analysis/CudaDevices.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "moe-mlir/Dialect/Cuda/IR/CudaDialect.h.inc"
#include "moe-mlir/Dialect/Cuda/IR/CudaEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Cuda/IR/CudaAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "moe-mlir/Dialect/Cuda/IR/CudaTypes.h.inc"

#include "moe-mlir/Dialect/Cuda/IR/CudaOpInterfaces.h.inc"
#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Cuda/IR/CudaOps.h.inc"

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDA_H
