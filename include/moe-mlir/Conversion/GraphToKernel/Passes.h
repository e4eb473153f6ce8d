//===- Passes.h - tensors to block programs -----------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_GRAPHTOKERNEL_PASSES_H
#define MOE_MLIR_CONVERSION_GRAPHTOKERNEL_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::kernel {

#define GEN_PASS_DECL
#include "moe-mlir/Conversion/GraphToKernel/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Conversion/GraphToKernel/Passes.h.inc"

} // namespace mlir::kernel

#endif // MOE_MLIR_CONVERSION_GRAPHTOKERNEL_PASSES_H
