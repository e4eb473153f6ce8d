//===- Cost.cpp - what products and transfers take ----------------------------------------------------------------===//

#include "moe-mlir/Simulation/Cost.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace moe_mlir;
using namespace moe_mlir::sim;

static constexpr int64_t kLeastColumns = 64; ///< of a tile of the compiler's kernels

/// Tiles of a product whose groups have `rowsEach` rows; all of it but the number of row tiles.
static Tiles tiled(const CudaDevice &device, CudaProduct product, const CudaTile &tile, int64_t rowsEach) {
  Tiles tiles;
  tiles.rows = tile.rows;
  tiles.columns = tile.columns;
  tiles.columnTiles = llvm::divideCeil(product.columns, tile.columns);
  // One tile on a device that has one multiprocessor: what CudaCost says of it, but for memory, which all share.
  CudaDevice one = device;
  one.multiprocessors = 1;
  CudaProduct single = product;
  single.groups = 1;
  single.rows = rowsEach <= tile.fewRows ? rowsEach : tile.rows;
  single.columns = tile.columns;
  const CudaEstimate estimate = estimateProduct(one, single, tile);
  const auto &t = estimate.terms;
  tiles.seconds = std::max({t[0].seconds, t[1].seconds, t[2].seconds}) + t[3].seconds;
  product.groups = std::max<int64_t>(product.groups, 2);
  const CudaEstimate all = estimateProduct(device, product, tile);
  tiles.record = all.terms[4].seconds / double(std::max<int64_t>(std::min(product.groups, product.rows), 1));
  return tiles;
}

Tiles sim::tilesOf(const CudaDevice &device, CudaProduct product) {
  CudaTile tile = largestTile;
  tile.columns = chooseColumns(device, product, kLeastColumns, largestTile);
  return tilesOf(device, product, tile, /*even=*/false);
}

Tiles sim::tilesOf(const CudaDevice &device, const CudaProduct &product, const CudaTile &tile, bool even) {
  const int64_t active = std::max<int64_t>(std::min(product.groups, product.rows), 1);
  const int64_t rowsEach = llvm::divideCeil(product.rows, active);
  Tiles tiles = tiled(device, product, tile, rowsEach);
  if (rowsEach <= tile.fewRows)
    tiles.rowTiles = active;
  else if (even)
    tiles.rowTiles = active * int64_t(llvm::divideCeil(rowsEach, tile.rows));
  else
    tiles.rowTiles = int64_t(std::ceil(expectedRowTiles(active, product.rows, tile.rows) - 0.01));
  return tiles;
}

double sim::tileSeconds(const CudaDevice &device, const Tiles &tiles, int64_t blocks, double bytes, double overhead) {
  const double each = double(std::max<int64_t>(tiles.count(), 1)) / double(blocks);
  const double memory = bytes / device.reachableBytesPerSecond / std::max(each, 1.0);
  return std::max(tiles.seconds + overhead / std::max(each, 1.0), memory);
}

double sim::rowsSeconds(const CudaDevice &device, double bytes) {
  return estimateRows(device, {int64_t(bytes), 0, device.multiprocessors}).seconds;
}

int64_t sim::linearMessages(const Cluster &cluster) { return cluster.ranks() - 1; }

int64_t sim::nestedMessages(const Cluster &cluster) {
  if (cluster.nodes == 1 || cluster.ranksPerNode == 1)
    return linearMessages(cluster);
  return cluster.ranksPerNode - 1 + cluster.nodes - 1;
}

double sim::linearAllToAll(const Cluster &cluster, const Constants &constants, double bytes) {
  const double n = double(cluster.ranks()), m = double(cluster.ranksPerNode);
  const double local = bytes * (m - 1) / n / rateOf(cluster.local, constants);
  const double network = bytes * (n - m) / n / rateOf(cluster.network, constants);
  return cluster.launch + double(linearMessages(cluster)) * cluster.message + std::max(local, network) +
         (cluster.nodes > 1 ? cluster.network.latency : cluster.local.latency);
}

double sim::nestedAllToAll(const Cluster &cluster, const Constants &constants, double bytes) {
  if (cluster.nodes == 1 || cluster.ranksPerNode == 1)
    return linearAllToAll(cluster, constants, bytes);
  const double q = double(cluster.nodes), m = double(cluster.ranksPerNode);
  const double local = bytes * (m - 1) / m / rateOf(cluster.local, constants) + cluster.local.latency;
  const double network = bytes * (q - 1) / q / rateOf(cluster.network, constants) + cluster.network.latency;
  const double copy = rowsSeconds(cluster.device, 2 * bytes);
  return 4 * cluster.launch + double(nestedMessages(cluster)) * cluster.message + local + network + 2 * copy;
}
