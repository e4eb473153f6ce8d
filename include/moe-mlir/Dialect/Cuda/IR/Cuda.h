//===- Cuda.h - NVIDIA GPUs as targets ----------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_CUDA_H
#define MOE_MLIR_DIALECT_CUDA_IR_CUDA_H

#include "moe-mlir/Analysis/CudaDevices.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"

#include "mlir/IR/Dialect.h"

#include "moe-mlir/Dialect/Cuda/IR/CudaDialect.h.inc"
#include "moe-mlir/Dialect/Cuda/IR/CudaEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Cuda/IR/CudaAttrs.h.inc"

#endif // MOE_MLIR_DIALECT_CUDA_IR_CUDA_H
