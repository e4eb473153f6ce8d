//===- Totals.h - sums over launches --------------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_REPORT_TOTALS_H
#define MOE_MLIR_LIB_REPORT_TOTALS_H

#include "moe-mlir/Report/Report.h"

namespace moe_mlir {

/// Sums at one point; none if a launch has no number there.
struct Totals {
  std::optional<int64_t> flops = 0, weights = 0, read = 0, written = 0;
  std::optional<double> estimate = 0, floor = 0; ///< seconds on a GPU

  void add(const LaunchReport &launch, size_t point) {
    auto accumulate = [](auto &sum, const auto &value) {
      if (sum && value)
        *sum += *value;
      else
        sum = std::nullopt;
    };
    accumulate(flops, launch.flops.values[point]);
    accumulate(weights, launch.weights.values[point]);
    accumulate(read, launch.read.values[point]);
    accumulate(written, launch.written.values[point]);
    const bool isTimed = launch.gpu && point < launch.gpu->floor.size();
    accumulate(estimate, isTimed ? launch.gpu->estimate[point] : std::nullopt);
    accumulate(floor, isTimed ? launch.gpu->floor[point] : std::nullopt);
  }
  std::optional<int64_t> bytes() const {
    return weights && read && written ? std::optional(*weights + *read + *written) : std::nullopt;
  }
};

inline Totals totalsOf(const LaunchReport &launch, size_t point) {
  Totals totals;
  totals.add(launch, point);
  return totals;
}
inline Totals totalsOf(const LayerReport &layer, size_t point) {
  Totals totals;
  for (const LaunchReport &launch : layer.launches)
    totals.add(launch, point);
  return totals;
}
/// Of one variant: a call runs one of them.
inline Totals totalsOf(const Report &report, size_t point, size_t variant = 0) {
  Totals totals;
  for (const LayerReport &layer : report.layers)
    if (report.variantOf(layer.entry) == variant)
      for (const LaunchReport &launch : layer.launches)
        totals.add(launch, point);
  return totals;
}

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_REPORT_TOTALS_H
