//===- Predictions.cpp - published times beside the model's -------------------------------------------------------===//

#include "moe-mlir/Simulation/Predictions.h"
#include "moe-mlir/Simulation/Published.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

namespace {
constexpr double kMilli = 1e3, kPi = 3.14159265358979;
// The blocks that flux ships for 16-bit layers on Hopper. Elsewhere they were profiled: the best.
constexpr int64_t kShippedBlocks = 28;

/// A row of flux's docs/performance.md: 8192 tokens, all widths 8192.
struct FluxRow {
  int64_t tp, ep, experts, topK;
  double h800Gather, h800Scatter, l20Gather, l20Scatter;

  /// Its test of layer 1 draws experts evenly.
  FluxLayer second() const { return {8192, 8192, 8192, experts, topK, tp, ep}; }
  /// That of layer 0 draws how often each expert is chosen from 0 to 1, so that one of two groups has more rows: in the
  /// mean, as the difference of two sums of E / 2 even numbers.
  FluxLayer first() const {
    FluxLayer layer = second();
    if (ep == 2)
      layer.load = 1 + std::sqrt(double(experts) / 12) * std::sqrt(2 / kPi) / (double(experts) / 2);
    return layer;
  }
  std::string name() const {
    return "TP " + std::to_string(tp) + ", EP " + std::to_string(ep) + ", E " + std::to_string(experts) + ", k " +
           std::to_string(topK);
  }
};
} // namespace

static constexpr FluxRow kFlux[] = {{8, 1, 32, 4, 1.146, 1.863, 7.81, 7.98},
                                    {4, 2, 32, 4, 1.335, 1.685, 8.73, 8.45},
                                    {8, 1, 8, 2, 0.657, 1.019, 5.90, 6.74},
                                    {4, 2, 8, 2, 0.955, 0.981, 6.16, 7.01}};

/// A cluster of another number of ranks, in nodes of eight.
static Cluster sized(Cluster cluster, int64_t ranks) {
  cluster.nodes = std::max<int64_t>(ranks / cluster.ranksPerNode, 1);
  return cluster;
}

/// Tutel's Table 2: two all-to-alls forward and two backward of 64 K tokens, k = 2, D = 4096 in f32, as the times say.
static double table2(const Machines &machines, const Constants &constants, int64_t gpus) {
  return kMilli * 4 * linearAllToAll(sized(machines.a100, gpus), constants, 65536. * 2 * 4096 * 4);
}

Expected<Machines> sim::readMachines(StringRef folder) {
  Machines machines;
  for (auto [name, cluster] : {std::pair("h800", &machines.h800), std::pair("h200", &machines.h200),
                               std::pair("l20", &machines.l20), std::pair("a100", &machines.a100)}) {
    Expected<Cluster> read = findCluster(name, folder);
    if (!read)
      return read.takeError();
    *cluster = *read;
  }
  return machines;
}

std::vector<Prediction> sim::fittedRows(const Machines &machines, const Constants &constants) {
  std::vector<Prediction> rows;
  for (const FluxRow &row : kFlux)
    rows.push_back({"flux, H800, layer 0", row.name(), "ms", row.h800Gather,
                    kMilli * fluxGather(machines.h800, constants, row.first())});
  rows.push_back({"Tutel, Table 2", "all-to-alls of 16 GPUs", "ms", 189.1, table2(machines, constants, 16)});
  return rows;
}

/// The layer of COMET's figures: experts of Mixtral's size with two matrices, E = 8, k = 2; as many rows for each, and
/// a slice is a column of tiles.
static FluxLayer ofPaper(int64_t tokens, int64_t tp) {
  FluxLayer layer{tokens, 4096, 14336, 8, 2, tp, 8 / tp};
  layer.even = true;
  layer.slices = layer.hidden / 256;
  return layer;
}

/// COMET's Fig. 11: 16384 tokens of 8 ranks.
static void addHidden(std::vector<Prediction> &rows, const Machines &machines, const Constants &constants) {
  const FluxLayer layer = ofPaper(16384, 1);
  const FluxAlone alone = fluxAlone(machines.h800, constants, layer);
  const double seconds = fluxSeconds(machines.h800, constants, layer, bestBlocks(machines.h800, constants, layer));
  const char *const source = "COMET, Fig. 11", *const unit = "% hidden";
  rows.push_back({source, "COMET", unit, 86.5, 100 * (alone.products + alone.links - seconds) / alone.links});
  const TutelLayer tutel{2048, 4096, 14336, 2, 1.0};
  auto hidden = [&](const TutelTimes &times) {
    const TutelTimes whole = tutelSeconds(machines.h800, constants, tutel, 1, false);
    return 100 * (whole.seconds - times.seconds) / whole.links;
  };
  rows.push_back({source, "Tutel, its best degree", unit, 68.6,
                  hidden(bestTutel(machines.h800, constants, tutel, false).times)});
  rows.push_back(
      {source, "FasterMoE, degree 2", unit, 29.2, hidden(tutelSeconds(machines.h800, constants, tutel, 2, false))});
}

std::vector<Prediction> sim::predictedRows(const Machines &machines, const Constants &constants) {
  std::vector<Prediction> rows;
  for (const FluxRow &row : kFlux)
    rows.push_back({"flux, H800, layer 1", row.name(), "ms", row.h800Scatter,
                    kMilli * fluxScatter(machines.h800, constants, row.second(), kShippedBlocks)});
  for (const FluxRow &row : kFlux)
    rows.push_back({"flux, L20, layer 0", row.name(), "ms", row.l20Gather,
                    kMilli * fluxGather(machines.l20, constants, row.first())});
  for (const FluxRow &row : kFlux)
    rows.push_back({"flux, L20, layer 1", row.name(), "ms", row.l20Scatter,
                    kMilli * fluxScatter(machines.l20, constants, row.second(),
                                         bestBlocks(machines.l20, constants, row.second()))});
  rows.push_back({"Tutel, Table 2", "all-to-alls of 64 GPUs", "ms", 323.8, table2(machines, constants, 64)});
  rows.push_back({"Tutel, Table 2", "all-to-alls of 256 GPUs", "ms", 491.3, table2(machines, constants, 256)});
  addHidden(rows, machines, constants);
  struct {
    int64_t tp, tokens, blocks;
  } const best[] = {{8, 4096, 18}, {8, 16384, 26}, {4, 16384, 46}};
  for (const auto &each : best) {
    const FluxLayer layer = ofPaper(each.tokens, each.tp);
    rows.push_back({"COMET, Fig. 8", "TP " + std::to_string(each.tp) + ", M " + std::to_string(each.tokens),
                    "blocks", double(each.blocks), double(bestBlocks(machines.h800, constants, layer))});
  }
  // What LigerCute measured: 8192 tokens of each of 8 ranks, gated experts, the blocks that are shipped.
  const FluxLayer qwen{65536, 2048, 768, 128, 8, 1, 8, true}, mixtral{65536, 4096, 14336, 8, 2, 1, 8, true};
  auto rate = [&](const FluxLayer &layer) {
    const double flops = 6. * 8192 * double(layer.topK * layer.hidden) * double(layer.ffn);
    return flops / fluxSeconds(machines.h200, constants, layer, kShippedBlocks) / 1e12;
  };
  rows.push_back({"LigerCute, Comet, 8 x H200", "Qwen3-30B", "TFLOP/s", 176, rate(qwen)});
  rows.push_back({"LigerCute, Comet, 8 x H200", "Mixtral-8x7B", "TFLOP/s", 378, rate(mixtral)});
  return rows;
}

/// COMET's Fig. 9: what a model gains is what its layers gain, the rest is the same.
static void addModels(std::vector<Prediction> &rows, const Machines &machines, const Constants &constants) {
  struct {
    const char *name;
    int64_t layers, experts, topK, hidden, ffn;
    double tutel, comet;
  } const models[] = {{"Mixtral", 32, 8, 2, 4096, 14336, 218, 178},
                      {"Qwen2-MoE", 24, 64, 4, 2048, 1408, 118, 62},
                      {"Phi-3.5", 32, 16, 2, 4096, 6400, 175, 114}};
  for (const auto &model : models) {
    const FluxLayer flux{8 * 4096, model.hidden, model.ffn, model.experts, model.topK, 1, 8};
    const TutelLayer tutel{4096, model.hidden, model.ffn, model.topK, double(model.experts) / 8};
    const double slow = bestTutel(machines.h800, constants, tutel, false).times.seconds;
    const double fast = fluxSeconds(machines.h800, constants, flux, bestBlocks(machines.h800, constants, flux));
    rows.push_back({"COMET, Fig. 9, M 4096, EP 8", std::string(model.name) + ", Tutel minus COMET", "ms",
                    model.tutel - model.comet, kMilli * double(model.layers) * (slow - fast)});
  }
}

/// Mean gain of the best degree and all-to-all over one linear exchange, over the layers of Tutel's Table 6.
static double meanGain(const Machines &machines, const Constants &constants, int64_t gpus) {
  const Cluster cluster = sized(machines.a100, gpus);
  double sum = 0;
  int count = 0;
  for (double experts : {0.5, 1., 2.})
    for (int64_t hidden : {1024, 2048, 4096})
      for (int64_t ffn : {1024, 2048, 4096})
        for (int64_t tokens : {4096, 16384, 65536}) {
          const TutelLayer layer{tokens, hidden, ffn, 2, experts};
          const double plain = tutelSeconds(cluster, constants, layer, 1, false).seconds;
          sum += plain / bestTutel(cluster, constants, layer, true).times.seconds - 1;
          ++count;
        }
  return 100 * sum / count;
}

std::vector<Prediction> sim::printedRows(const Machines &machines, const Constants &constants) {
  std::vector<Prediction> rows;
  addModels(rows, machines, constants);
  for (auto [gpus, published] : {std::pair(16, 4.96), std::pair(128, 3.11), std::pair(2048, 5.75)}) {
    const Cluster cluster = sized(machines.a100, gpus);
    const TutelLayer layer{16384, 2048, 2048, 2, 2};
    rows.push_back({"Tutel, Fig. 14", std::to_string(gpus) + " GPUs, over Fairseq", "x", published,
                    fairseqSeconds(cluster, constants, layer) /
                        bestTutel(cluster, constants, layer, true).times.seconds});
  }
  for (auto [gpus, published] :
       {std::pair(16, 20.), std::pair(32, 16.), std::pair(64, 13.), std::pair(128, 9.), std::pair(256, 20.)})
    rows.push_back({"Tutel, Table 6", std::to_string(gpus) + " GPUs, mean gain", "%", published,
                    meanGain(machines, constants, gpus)});
  return rows;
}

double sim::medianDeviation(const std::vector<Prediction> &rows) {
  std::vector<double> all;
  for (const Prediction &row : rows)
    all.push_back(std::abs(row.deviation()));
  std::sort(all.begin(), all.end());
  const size_t half = all.size() / 2;
  return all.size() % 2 ? all[half] : (all[half - 1] + all[half]) / 2;
}
