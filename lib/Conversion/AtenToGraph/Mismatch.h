//===- Mismatch.h - why a matcher gave up -------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_MISMATCH_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_MISMATCH_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/Twine.h"

#include <optional>
#include <string>

namespace mlir::aten {

/// The first step of a pattern that did not fit. Patterns do not ask for it; PlainLayers.cpp does, once they are done.
struct Mismatch {
  /// A word that the pattern's description has.
  std::string step;
  /// What was found instead of what is known.
  std::string reason;
  /// What did not fit, as far as it is one operation.
  Operation *at = nullptr;
};

/// What a matcher returns when it gives up: nothing, whatever it returns otherwise.
struct NoMatch {
  template <typename T> operator std::optional<T>() const { return std::nullopt; }
  operator Value() const { return {}; }
  operator LogicalResult() const { return failure(); }
};

/// Gives up, and says why if somebody asks. The first reason counts.
inline NoMatch giveUp(Mismatch *why, StringRef step, const Twine &reason, Value at = {}) {
  if (why && why->step.empty())
    *why = {step.str(), reason.str(), at ? at.getDefiningOp() : nullptr};
  return {};
}

/// What computes a value, in a word or two: "aten.softmax", "nn.linear", "an input".
std::string nameOf(Value value);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_MISMATCH_H
