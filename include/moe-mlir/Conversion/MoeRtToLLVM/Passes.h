//===- Passes.h - runtime calls to LLVM ---------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_MOERTTOLLVM_PASSES_H
#define MOE_MLIR_CONVERSION_MOERTTOLLVM_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::moert {

#define GEN_PASS_DECL
#include "moe-mlir/Conversion/MoeRtToLLVM/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Conversion/MoeRtToLLVM/Passes.h.inc"

/// Name of the table of kernels, an array of `moert_kernel`.
inline constexpr llvm::StringLiteral kernelTableName = "moert_kernels";

} // namespace mlir::moert

#endif // MOE_MLIR_CONVERSION_MOERTTOLLVM_PASSES_H
