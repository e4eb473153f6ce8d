//===- Variants.h - how experts, data and widths are divided --------------------------------------------*- C++ -*-===//
//
// Tutel's `adaptive:r`: one number says whether weights travel to tokens or tokens to weights. Its dictionary keeps the
// best (r, degree, all-to-all) of a capacity.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SIMULATION_VARIANTS_H
#define MOE_MLIR_SIMULATION_VARIANTS_H

#include "moe-mlir/Simulation/Published.h"

namespace moe_mlir::sim {

/// Combinations of data, model and expert parallelism.
enum class Method { Data, Model, Expert, DataModel, ExpertData, ExpertModel, ExpertDataModel };

/// What a method moves per GPU, by Tutel's Table 4, up to a factor that all have: `capacity` of an expert from one GPU,
/// `parameters` of all experts, and the number of slices r. None: the method does not apply.
std::optional<double> volumeOf(Method method, int64_t gpus, int64_t experts, double capacity, double parameters,
                               int64_t slices);

/// Ranks that share an expert.
int64_t shardsOf(int64_t gpus, int64_t experts);
/// Values of r: 0 (weights are gathered) and the divisors of the shards.
std::vector<int64_t> slicesOf(int64_t gpus, int64_t experts);

struct Variant {
  int64_t slices = 1; ///< r
  int64_t degree = 1;
  bool nested = false;
};

/// `experts` of the whole layer; expertsPerRank of `layer` follows from it.
double variantSeconds(const Cluster &cluster, const Constants &constants, const TutelLayer &layer, int64_t experts,
                      const Variant &variant);

struct VariantChoice {
  Variant variant;
  double seconds = 0;
  int64_t trials = 0; ///< times that were asked for
};
/// The best variant, by Tutel's search: r in thirds, all degrees and both all-to-alls for each.
VariantChoice chooseVariant(const Cluster &cluster, const Constants &constants, const TutelLayer &layer,
                            int64_t experts);
/// Tutel's budget of trials: (log_1.5(shards) + 2) * 4 * 2.
double mostTrials(int64_t shards);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_SIMULATION_VARIANTS_H
