//===- Layer.cpp - the shape of a MoE layer on several ranks ------------------------------------------------------===//

#include "moe-mlir/Simulation/Layer.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

namespace {
struct Known {
  StringLiteral name;
  int64_t experts, topK, hidden, ffn;
};
constexpr int64_t kMost = int64_t(1) << 24;
} // namespace

// Published configurations. COMET computes Mixtral, Phi and Qwen2 with two matrices per expert: gated=no.
static constexpr Known kLayers[] = {
    {"deepseek-v3", 256, 8, 7168, 2048},   {"mixtral-8x7b", 8, 2, 4096, 14336}, {"olmoe", 64, 8, 2048, 1024},
    {"phi-3.5-moe", 16, 2, 4096, 6400},    {"qwen2-moe", 64, 4, 2048, 1408},    {"qwen3-30b", 128, 8, 2048, 768},
    {"qwen3-235b", 128, 8, 4096, 1536},
};

std::string sim::layerNames() {
  std::string names;
  for (const Known &known : kLayers)
    names += (names.empty() ? "" : ", ") + known.name.str();
  return names;
}

double Layer::chance(double share) const {
  // Of `experts`, a token draws topK different ones; `own` of them are here. A share need not be a whole number of
  // experts, so the binomials are gamma functions: 1 - C(E - own, k) / C(E, k).
  const double all = double(experts), own = share * all;
  if (own <= 0)
    return 0;
  if (all - own < double(topK))
    return 1;
  const double none = std::lgamma(all - own + 1) - std::lgamma(all - own - double(topK) + 1) - std::lgamma(all + 1) +
                      std::lgamma(all - double(topK) + 1);
  return 1 - std::exp(std::min(none, 0.0));
}

Expected<Layer> sim::parseLayer(StringRef text) {
  Layer layer;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    part = part.trim();
    const auto [key, value] = part.split('=');
    if (key.size() == part.size()) {
      const Known *known =
          std::find_if(std::begin(kLayers), std::end(kLayers), [&](const Known &each) { return each.name == part; });
      if (known == std::end(kLayers) || part.data() != parts.front().trim().data())
        return createStringError("no layer is called '" + printable(part) + "'; there are " + layerNames() +
                                 ", or experts=N,top-k=N,hidden=N,ffn=N");
      layer.name = known->name.str();
      layer.experts = known->experts;
      layer.topK = known->topK;
      layer.hidden = known->hidden;
      layer.ffn = known->ffn;
      continue;
    }
    if (key == "gated") {
      if (value != "yes" && value != "no")
        return createStringError("'gated' of a layer is yes or no, not '" + printable(value) + "'");
      layer.gated = value == "yes";
      continue;
    }
    int64_t *field = key == "experts"  ? &layer.experts
                     : key == "top-k"  ? &layer.topK
                     : key == "hidden" ? &layer.hidden
                     : key == "ffn"    ? &layer.ffn
                                       : nullptr;
    if (!field)
      return createStringError("a layer has no '" + printable(key) + "'; it has experts, top-k, hidden, ffn, gated");
    if (value.getAsInteger(10, *field) || *field < 1 || *field > kMost)
      return createStringError("'" + key + "' of a layer is a number from 1 to " + std::to_string(kMost) + ", not '" +
                               printable(value) + "'");
  }
  for (auto [key, value] : {std::pair("experts", layer.experts), std::pair("top-k", layer.topK),
                            std::pair("hidden", layer.hidden), std::pair("ffn", layer.ffn)})
    if (!value)
      return createStringError("layer '" + printable(text) + "' lacks " + key + "=N");
  if (layer.name.empty())
    layer.name = "layer";
  return layer;
}

Error sim::checkLayer(const Layer &layer, int64_t ranks) {
  if (layer.topK > layer.experts)
    return createStringError("a token has " + std::to_string(layer.topK) + " experts, the layer " +
                             std::to_string(layer.experts));
  // Beyond these sizes numbers would overflow, or a run take longer than anybody waits.
  if (double(layer.experts) * double(layer.hidden) * double(layer.ffn) > 0x1p44)
    return createStringError("the layer has more than 2^44 weights");
  if (layer.pairs(ranks, 1) > 0x1p32 * double(ranks))
    return createStringError("a rank has more than 2^32 pairs of a token and an expert");
  if (layer.experts % ranks)
    return createStringError(std::to_string(layer.experts) + " experts do not divide among " + std::to_string(ranks) +
                             " ranks");
  return Error::success();
}

Expected<std::vector<double>> sim::drawnShares(int64_t ranks, double deviation) {
  std::vector<double> share(static_cast<size_t>(ranks));
  std::mt19937 random(1);
  double sum = 0, squares = 0;
  for (double &value : share) {
    value = double(random()) / double(std::mt19937::max());
    sum += value;
  }
  for (double &value : share) {
    value -= sum / double(ranks);
    squares += value * value;
  }
  // Moved and stretched: the mean and the deviation are those that were asked for.
  const double scale = ranks > 1 ? deviation / std::sqrt(squares / double(ranks)) : 0;
  for (double &value : share)
    value = 1 / double(ranks) + value * scale;
  if (*std::min_element(share.begin(), share.end()) < 0)
    return createStringError("shares of " + std::to_string(ranks) + " ranks cannot deviate by " +
                             std::to_string(deviation) + ": some would be below zero");
  return share;
}
