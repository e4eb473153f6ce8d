//===- Passes.h - passes about programs for a GPU -------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_CUDA_TRANSFORMS_PASSES_H
#define MOE_MLIR_DIALECT_CUDA_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::cuda {

#define GEN_PASS_DECL
#include "moe-mlir/Dialect/Cuda/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Dialect/Cuda/Transforms/Passes.h.inc"

} // namespace mlir::cuda

#endif // MOE_MLIR_DIALECT_CUDA_TRANSFORMS_PASSES_H
