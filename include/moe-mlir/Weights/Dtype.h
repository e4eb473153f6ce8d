//===- Dtype.h - element types of weights: names, MLIR types, conversions -------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_WEIGHTS_DTYPE_H
#define MOE_MLIR_WEIGHTS_DTYPE_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"

#include "moert/moert.h"

#include <optional>

namespace moe_mlir {

/// The runtime's number of an element type; none if the runtime has no such type.
std::optional<moert_dtype> dtypeOf(mlir::Type type);
/// As in IR: "f32", "bf16", "i64", ...
llvm::StringRef dtypeName(moert_dtype dtype);

/// Converts `count` elements, rounding to nearest even. Returns false if there is no such conversion (it exists between
/// f64, f32, bf16 and f16). `from` and `to` do not overlap.
bool convertElements(moert_dtype fromType, const char *from, moert_dtype toType, char *to, size_t count);
/// Whether `convertElements` would do it.
bool isConvertible(moert_dtype from, moert_dtype to);

} // namespace moe_mlir

#endif // MOE_MLIR_WEIGHTS_DTYPE_H
