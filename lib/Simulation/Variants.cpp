//===- Variants.cpp - how experts, data and widths are divided ----------------------------------------------------===//

#include "moe-mlir/Simulation/Variants.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace moe_mlir;
using namespace moe_mlir::sim;

std::optional<double> sim::volumeOf(Method method, int64_t gpus, int64_t experts, double capacity, double parameters,
                                    int64_t slices) {
  const double w = double(gpus), e = double(experts), r = double(slices), shards = std::max(1.0, w / e);
  switch (method) {
  case Method::Data:
    return parameters;
  case Method::Model:
    return capacity * w;
  case Method::Expert:
    return experts >= gpus ? std::optional<double>(capacity) : std::nullopt;
  case Method::DataModel:
    return capacity * r + parameters / r;
  case Method::ExpertData:
    return capacity + parameters / e;
  case Method::ExpertModel:
    return capacity * shards;
  case Method::ExpertDataModel:
    return r >= shards ? capacity * shards : capacity * r + parameters / (e * r);
  }
  return std::nullopt;
}

int64_t sim::shardsOf(int64_t gpus, int64_t experts) { return llvm::divideCeil(gpus, experts); }

std::vector<int64_t> sim::slicesOf(int64_t gpus, int64_t experts) {
  const int64_t shards = shardsOf(gpus, experts);
  std::vector<int64_t> slices{0};
  for (int64_t r = 1; r <= shards; ++r)
    if (shards % r == 0)
      slices.push_back(r);
  return slices;
}

double sim::mostTrials(int64_t shards) { return (std::log(double(shards)) / std::log(1.5) + 2) * 4 * 2; }

double sim::variantSeconds(const Cluster &cluster, const Constants &constants, const TutelLayer &layer, int64_t experts,
                           const Variant &variant) {
  const int64_t gpus = cluster.ranks(), shards = shardsOf(gpus, experts);
  const double weights = 2. * double(layer.hidden * layer.ffn * layer.elementBytes); // of an expert
  const double rate = cluster.nodes > 1 ? rateOf(cluster.network, constants) : rateOf(cluster.local, constants);
  TutelLayer own = layer;
  if (variant.slices == 0) {
    // All weights come here, no token leaves.
    own.expertsPerRank = double(experts);
    const double gathered = weights * double(experts) * double(gpus - 1) / double(gpus);
    return gathered / rate + tutelSeconds(cluster, constants, own, 1, false).products;
  }
  // A token goes to r slices of its expert; a group of shards / r ranks gathers the weights of a slice.
  own.expertsPerRank = shards > 1 ? 1 / double(variant.slices) : double(experts) / double(gpus);
  const double gathered = shards > 1 ? weights * (1 / double(variant.slices) - 1 / double(shards)) : 0;
  return gathered / rate + tutelSeconds(cluster, constants, own, variant.degree, variant.nested).seconds;
}

VariantChoice sim::chooseVariant(const Cluster &cluster, const Constants &constants, const TutelLayer &layer,
                                 int64_t experts) {
  VariantChoice best;
  const std::vector<int64_t> all = slicesOf(cluster.ranks(), experts);
  std::vector<double> known(all.size(), -1);
  auto ask = [&](int64_t index) {
    double &least = known[static_cast<size_t>(index)];
    if (least >= 0)
      return least;
    for (int64_t degree : {1, 2, 4, 8})
      for (bool nested : {false, true}) {
        const Variant variant{all[static_cast<size_t>(index)], degree, nested};
        const double seconds = variantSeconds(cluster, constants, layer, experts, variant);
        if (!best.trials++ || seconds < best.seconds) {
          best.seconds = seconds;
          best.variant = variant;
        }
        least = least < 0 ? seconds : std::min(least, seconds);
      }
    return least;
  };
  // Both ends, then thirds of what is between; if all of it fits into the budget, all of it.
  int64_t low = 1, high = int64_t(all.size()) - 1;
  ask(0);
  ask(high);
  const bool narrow = double(all.size()) * 8 > mostTrials(shardsOf(cluster.ranks(), experts));
  while (narrow && high - low > 2) {
    const int64_t third = (high - low) / 3, left = low + third, right = high - third;
    if (ask(left) <= ask(right))
      high = right;
    else
      low = left;
  }
  for (int64_t index = low; index <= high; ++index)
    ask(index);
  return best;
}
