//===- Norm.h - recognising root-mean-square normalisation ---------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_NORM_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_NORM_H

#include "Mismatch.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include <optional>

namespace mlir::aten {

struct Normalized {
  /// Before its cast to f32, and after.
  Value x, wide;
  double eps;
};

/// x32 * rsqrt(mean(x32^2) + eps) in f32, over the last dimension.
std::optional<Normalized> matchNormalized(Value value, Mismatch *why = nullptr);

/// True if rows have a known number of columns.
bool hasColumns(RankedTensorType type);

/// nn.rms_norm of `x` that rounds once; ones for a weight that is not there.
Value createRmsNorm(OpBuilder &builder, Location loc, Value x, Value weight, double eps);

/// True if `value` can be the weight of rows `x`.
bool isScale(Value value, RankedTensorType x);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_NORM_H
