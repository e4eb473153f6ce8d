//===- Passes.h - block programs to CUDA C++ ------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_KERNELTOEMITC_PASSES_H
#define MOE_MLIR_CONVERSION_KERNELTOEMITC_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::kernel {

#define GEN_PASS_DECL
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h.inc"

/// The pipeline `kernel-to-threads`: the work of kernels is distributed to threads, the rest of a module stays.
void buildKernelToThreadsPipeline(OpPassManager &pm);
/// The pipeline `kernel-to-emitc`: kernels become CUDA C++ as emitc, the rest of a module stays.
void buildKernelToEmitCPipeline(OpPassManager &pm);
void registerKernelToEmitCPipeline();

} // namespace mlir::kernel

#endif // MOE_MLIR_CONVERSION_KERNELTOEMITC_PASSES_H
