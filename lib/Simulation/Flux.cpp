//===- Flux.cpp - the schedule of COMET's open code ---------------------------------------------------------------===//

#include "Rank.h"
#include "moe-mlir/Simulation/Published.h"

#include <algorithm>
#include <cmath>

using namespace moe_mlir;
using namespace moe_mlir::sim;

// Of flux: its tile, the rows of a piece of the problem list. A result has 16 bits.
static constexpr CudaTile kTile{128, 256, 0};
static constexpr int64_t kPiece = 512, kBytes = 2;

static double rankRows(const FluxLayer &layer) {
  return double(layer.tokens * layer.topK) / double(layer.ep) * layer.load;
}

static Tiles firstTiles(const Cluster &cluster, const FluxLayer &layer) {
  return tilesOf(cluster.device,
                 {layer.experts / layer.ep, layer.ffn * (layer.gated ? 2 : 1) / layer.tp, layer.hidden,
                  int64_t(rankRows(layer)), kBytes, {1, kBytes, 1, 0}},
                 kTile, layer.even);
}

static Tiles secondTiles(const Cluster &cluster, const FluxLayer &layer) {
  return tilesOf(cluster.device,
                 {layer.experts / layer.ep, layer.hidden, layer.ffn / layer.tp, int64_t(rankRows(layer)), kBytes,
                  {1, kBytes, 1, 0}},
                 kTile, layer.even);
}

static double weightBytes(const FluxLayer &layer, int64_t matrices) {
  return double(layer.experts / layer.ep * layer.ffn / layer.tp * layer.hidden * kBytes * matrices);
}

/// Bytes of the tokens of one rank.
static double shardBytes(const Cluster &cluster, const FluxLayer &layer) {
  return double(layer.tokens * layer.hidden * kBytes) / double(cluster.ranks());
}

static double firstTileSeconds(const Cluster &cluster, const Constants &constants, const FluxLayer &layer,
                               const Tiles &tiles) {
  const int64_t matrices = layer.gated ? 2 : 1;
  const double bytes = weightBytes(layer, matrices) + double(layer.tokens * layer.hidden * kBytes) +
                       rankRows(layer) * double(layer.ffn * matrices / layer.tp * kBytes);
  return constants.published * tileSeconds(cluster.device, tiles, cluster.device.multiprocessors, bytes);
}

double sim::fluxGather(const Cluster &cluster, const Constants &constants, const FluxLayer &layer) {
  const double each = shardBytes(cluster, layer) / rateOf(cluster.local, constants);
  std::vector<Arrival> arrivals(1);
  for (int64_t source = 1; source < cluster.ranks(); ++source) {
    // One flag per source: nothing of it counts before all of it is there.
    const double end = double(source) * each + cluster.local.latency;
    arrivals.push_back({end, end});
  }
  const Tiles tiles = firstTiles(cluster, layer);
  Schedule schedule;
  schedule.steps.assign(static_cast<size_t>(cluster.ranks()), 1);
  schedule.piece = kPiece;
  const UpList list = makeUpList(schedule, tiles, arrivals, layer.experts / layer.ep,
                                 rankRows(layer) / double(cluster.ranks()), rankRows(layer));
  const double end = runUpList(list, tiles.columnTiles, cluster.device.multiprocessors,
                               firstTileSeconds(cluster, constants, layer, tiles), 0);
  return std::max(end, arrivals.back().end);
}

double sim::fluxScatter(const Cluster &cluster, const Constants &constants, const FluxLayer &layer, int64_t blocks) {
  const CudaDevice &device = cluster.device;
  const int64_t multiplying = device.multiprocessors - blocks;
  const Tiles tiles = secondTiles(cluster, layer);
  const double rows = rankRows(layer), tokens = double(layer.tokens), width = double(layer.hidden * kBytes);
  const double moved = weightBytes(layer, 1) + rows * double(layer.ffn / layer.tp * kBytes) + 2 * rows * width;
  const double tile = constants.published * tileSeconds(device, tiles, multiplying, moved);
  const double products = std::ceil(double(tiles.count()) / double(multiplying)) * tile;
  // A block reads the rows of a token's experts that are here, and stores their sum.
  const double read = rows / tokens / (device.cacheBytes * device.hertz);
  const double perBlock = 1 / std::max(1 / cluster.storeBytesPerSecond, read), perOwn = 1 / std::max(read, 1e-15);
  const double link = rateOf(cluster.local, constants), others = double(cluster.ranks() - 1) / double(cluster.ranks());
  auto seconds = [&](int64_t by) {
    return tokens * width / double(layer.slices) *
           (others / std::min(link, double(by) * perBlock) + (1 - others) / (double(by) * perOwn));
  };
  double free = 0;
  for (int64_t slice = 1; slice < layer.slices; ++slice) {
    const double done = std::ceil(double(tiles.count() * slice / layer.slices) / double(multiplying)) * tile;
    free = std::max(done, free) + seconds(blocks);
  }
  const double sent = std::max(free, products) + seconds(device.multiprocessors) + cluster.local.latency;
  return sent + cluster.launch + rowsSeconds(device, shardBytes(cluster, layer) * double(cluster.ranks() + 1));
}

int64_t sim::bestBlocks(const Cluster &cluster, const Constants &constants, const FluxLayer &layer) {
  int64_t best = 1;
  double least = fluxScatter(cluster, constants, layer, best);
  for (int64_t blocks = 2; blocks <= cluster.device.multiprocessors / 2; ++blocks)
    if (double seconds = fluxScatter(cluster, constants, layer, blocks); seconds < least) {
      least = seconds;
      best = blocks;
    }
  return best;
}

/// The activation is a kernel of its own: it reads what up wrote, and writes what down reads.
static double activation(const Cluster &cluster, const FluxLayer &layer) {
  return cluster.launch +
         rowsSeconds(cluster.device, rankRows(layer) * double(layer.ffn / layer.tp * kBytes * (layer.gated ? 3 : 2)));
}

FluxAlone sim::fluxAlone(const Cluster &cluster, const Constants &constants, const FluxLayer &layer) {
  const CudaDevice &device = cluster.device;
  const Tiles first = firstTiles(cluster, layer), second = secondTiles(cluster, layer);
  auto rounds = [&](const Tiles &tiles) { return std::ceil(double(tiles.count()) / double(device.multiprocessors)); };
  const double up = rounds(first) * firstTileSeconds(cluster, constants, layer, first);
  const double down = rounds(second) * constants.published *
                      tileSeconds(device, second, device.multiprocessors,
                                  weightBytes(layer, 1) + rankRows(layer) * double(layer.hidden * kBytes));
  const double leg = shardBytes(cluster, layer) * double(cluster.ranks() - 1) / rateOf(cluster.local, constants);
  return {up + down + activation(cluster, layer), 2 * leg};
}

double sim::fluxSeconds(const Cluster &cluster, const Constants &constants, const FluxLayer &layer, int64_t blocks) {
  return fluxGather(cluster, constants, layer) + activation(cluster, layer) +
         fluxScatter(cluster, constants, layer, blocks);
}
