//===- ExpertActivation.h - what experts do between their two products ----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_EXPERTACTIVATION_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_EXPERTACTIVATION_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include <optional>

namespace mlir::aten {

/// `name(gate) * up`, or `name(x)` without a gate, by the names of `moe_mlir::experts`.
struct ExpertActivation {
  /// What it is computed from: [rows, 2 I] with a gate, else [rows, I].
  Value input;
  StringRef name;
  bool gated = false;
  /// Gate and up are even and odd columns instead of halves.
  bool interleaved = false;
};

/// Reads the calls that end in `value` as an activation of experts; nothing if they are none that is known.
std::optional<ExpertActivation> matchExpertActivation(Value value);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_EXPERTACTIVATION_H
