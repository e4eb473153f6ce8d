//===- Passes.h - block programs to LLVM --------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_KERNELTOLLVM_PASSES_H
#define MOE_MLIR_CONVERSION_KERNELTOLLVM_PASSES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/Pass.h"

namespace mlir::kernel {

#define GEN_PASS_DECL
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h.inc"

/// From kernel.func to llvm.func, for the CPU that the module's `kernel.target` describes. Launches must be gone (see
/// convert-host-to-moert): they verify against kernel.func.
void buildConvertKernelToLLVMPipeline(OpPassManager &pm);
void registerConvertKernelToLLVMPipeline();

} // namespace mlir::kernel

#endif // MOE_MLIR_CONVERSION_KERNELTOLLVM_PASSES_H
