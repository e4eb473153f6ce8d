//===- Tutel.cpp - pipelines of all-to-alls -----------------------------------------------------------------------===//

#include "moe-mlir/Simulation/Published.h"

#include <algorithm>
#include <cmath>

using namespace moe_mlir;
using namespace moe_mlir::sim;

/// Both products of the experts on `rows` of a rank, in `groups` of a batched product.
static double expertSeconds(const Cluster &cluster, const Constants &constants, const TutelLayer &layer, double rows,
                            int64_t groups) {
  const CudaDevice &device = cluster.device;
  const auto whole = std::max<int64_t>(std::llround(rows), 1);
  // An expert that several ranks share has a part of its width on each.
  const int64_t ffn = layer.expertsPerRank < 1 ? int64_t(double(layer.ffn) * layer.expertsPerRank) : layer.ffn;
  double seconds = 0;
  for (auto [columns, depth] : {std::pair(ffn, layer.hidden), std::pair(layer.hidden, ffn)}) {
    const Tiles tiles =
        tilesOf(device, {groups, columns, depth, whole, layer.elementBytes, {1, layer.elementBytes, 1, 0}});
    const double bytes =
        double(layer.elementBytes) * (double(groups * columns * depth) + rows * double(columns + depth));
    const double tile = constants.published * tileSeconds(device, tiles, device.multiprocessors, bytes);
    seconds += cluster.launch + std::ceil(double(tiles.count()) / double(device.multiprocessors)) * tile;
  }
  return seconds;
}

/// Rows that a rank sends: with shared experts, one to each rank of an expert.
static double sentRows(const TutelLayer &layer) {
  return double(layer.tokens * layer.topK) * std::max(1.0, 1 / layer.expertsPerRank);
}

static double rowBytes(const TutelLayer &layer) { return double(layer.hidden * layer.elementBytes); }

TutelTimes sim::tutelSeconds(const Cluster &cluster, const Constants &constants, const TutelLayer &layer,
                             int64_t degree, bool nested) {
  const double rows = sentRows(layer), bytes = rows * rowBytes(layer);
  const double part = nested ? nestedAllToAll(cluster, constants, bytes / double(degree))
                             : linearAllToAll(cluster, constants, bytes / double(degree));
  const auto groups = int64_t(std::ceil(layer.expertsPerRank));
  const double expert = expertSeconds(cluster, constants, layer, rows / double(degree), groups);
  // One stream has all first all-to-alls, then all second ones; another the experts.
  double product = 0;
  std::vector<double> done;
  for (int64_t i = 1; i <= degree; ++i)
    done.push_back(product = std::max(product, double(i) * part) + expert);
  double link = double(degree) * part;
  for (double ready : done)
    link = std::max(link, ready) + part;
  const double code = 2 * (cluster.launch + rowsSeconds(cluster.device, 2 * bytes)); // encode and decode
  return {link + code, 2 * double(degree) * part, double(degree) * expert};
}

TutelChoice sim::bestTutel(const Cluster &cluster, const Constants &constants, const TutelLayer &layer, bool mayNest) {
  TutelChoice best;
  best.times = tutelSeconds(cluster, constants, layer, 1, false);
  for (int64_t degree : {1, 2, 4, 8})
    for (bool nested : {false, true}) {
      if (nested && !mayNest)
        continue;
      const TutelTimes times = tutelSeconds(cluster, constants, layer, degree, nested);
      if (times.seconds < best.times.seconds)
        best = {degree, nested, times};
    }
  return best;
}

double sim::fairseqSeconds(const Cluster &cluster, const Constants &constants, const TutelLayer &layer) {
  const double rows = sentRows(layer);
  // Encode and decode multiply a mask of tokens x (experts x capacity) by the tokens.
  const int64_t bytes = layer.elementBytes;
  const CudaProduct mask{1, layer.hidden, layer.tokens, int64_t(rows), bytes, {1, bytes, 1, 0}};
  const Tiles tiles = tilesOf(cluster.device, mask);
  const double rounds = std::ceil(double(tiles.count()) / double(cluster.device.multiprocessors));
  const double code = 2 * rounds * constants.published * tiles.seconds;
  // Rows stay apart by source: a product of few rows for each expert and rank.
  const auto groups = int64_t(std::ceil(layer.expertsPerRank)) * cluster.ranks();
  return code + 2 * linearAllToAll(cluster, constants, rows * rowBytes(layer)) +
         expertSeconds(cluster, constants, layer, rows, groups);
}
