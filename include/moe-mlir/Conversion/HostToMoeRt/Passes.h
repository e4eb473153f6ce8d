//===- Passes.h - the host function to calls of the runtime -------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_HOSTTOMOERT_PASSES_H
#define MOE_MLIR_CONVERSION_HOSTTOMOERT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::moert {

#define GEN_PASS_DECL
#include "moe-mlir/Conversion/HostToMoeRt/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Conversion/HostToMoeRt/Passes.h.inc"

/// Module attribute that describes the program: inputs, outputs, states, symbols and parameters.
inline constexpr llvm::StringLiteral programAttrName = "moert.program";
/// Name of the host function at the runtime level.
inline constexpr llvm::StringLiteral hostFunctionName = "moe_run";

} // namespace mlir::moert

#endif // MOE_MLIR_CONVERSION_HOSTTOMOERT_PASSES_H
