//===- Passes.h - the host function to calls of the runtime -------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_HOSTTOMOERT_PASSES_H
#define MOE_MLIR_CONVERSION_HOSTTOMOERT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::moert {

#define GEN_PASS_DECL
#include "moe-mlir/Conversion/HostToMoeRt/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Conversion/HostToMoeRt/Passes.h.inc"

/// Attribute of a host function at the runtime level that describes the program: inputs, outputs, states, symbols.
inline constexpr llvm::StringLiteral programAttrName = "moert.program";
/// Module attribute with the parameters that its host functions read.
inline constexpr llvm::StringLiteral parametersAttrName = "moert.parameters";
/// Module attribute with the grids whose ranks run its programs.
inline constexpr llvm::StringLiteral axesAttrName = "moert.axes";
/// Name of the host function of `entry` at the runtime level: "moe_run" for "main", else "moe_run_<entry>".
std::string hostFunctionName(llvm::StringRef entry);
/// The inverse.
llvm::StringRef entryOf(llvm::StringRef hostFunctionName);

} // namespace mlir::moert

#endif // MOE_MLIR_CONVERSION_HOSTTOMOERT_PASSES_H
