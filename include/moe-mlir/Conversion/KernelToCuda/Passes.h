//===- Passes.h - products of block programs to roles of warps ------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_KERNELTOCUDA_PASSES_H
#define MOE_MLIR_CONVERSION_KERNELTOCUDA_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::kernel {

#define GEN_PASS_DECL
#include "moe-mlir/Conversion/KernelToCuda/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Conversion/KernelToCuda/Passes.h.inc"

} // namespace mlir::kernel

#endif // MOE_MLIR_CONVERSION_KERNELTOCUDA_PASSES_H
