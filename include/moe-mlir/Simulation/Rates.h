//===- Rates.h - what one rank of a cluster computes, reads and sends per second ------------------------*- C++ -*-===//
//
// Facts of a cluster's file, whatever its devices are: enough for floors of what no schedule is simulated for.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SIMULATION_RATES_H
#define MOE_MLIR_SIMULATION_RATES_H

#include "moe-mlir/Simulation/Cost.h"

namespace moe_mlir::sim {

/// Of one rank. Ranks of a CPU share its cores and memory equally.
struct Rates {
  double flops = 0;       ///< products of 16-bit floats
  double vectorFlops = 0; ///< in f32
  double bytesPerSecond = 0;
  double memoryBytes = 0; ///< what a rank may take
  double launch = 0;      ///< seconds that a kernel takes at least
  int64_t tileRows = 0;   ///< of a CPU's products

  /// Floor of a kernel: its products or its bytes, whichever takes longer.
  double seconds(double products, double bytes, int64_t elementBytes) const;
  /// Of products with weights, of which each multiplies so many rows. A CPU reads a weight with its first tile of rows;
  /// the other tiles find it in a cache, and hide nothing of it.
  double productSeconds(double products, double weightBytes, double rowBytes, int64_t elementBytes, double rows) const;
};

/// Of a rank of CPUs, but for its memory, which the description may not say.
Rates cpuRates(const Cluster &cluster);
/// One line if the description lacks a fact that only these rates need.
llvm::Expected<Rates> ratesOf(const Cluster &cluster);

/// Seconds until each rank of the cluster has sent `bytes` to every other one.
double sendSeconds(const Cluster &cluster, const Constants &constants, double bytes);

/// Of `ranks` sums of as many equal summands each, the largest one on average, where `sum` is the mean and one in
/// `ranks` of all summands belongs to a rank. Exact in the normal approximation for two ranks.
double largestOf(double sum, int64_t ranks, double free = 1);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_RATES_H
