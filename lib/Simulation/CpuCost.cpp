//===- CpuCost.cpp - what products take on the cores of a rank ----------------------------------------------------===//

#include "moe-mlir/Simulation/Rates.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace moe_mlir;
using namespace moe_mlir::sim;

// A thread takes all rows of an expert for one block of columns. Its weights come from memory with the first tile and
// from the cache with the others. A tile of fewer rows takes less, so what all take follows from the rows.
Tiles sim::cpuTilesOf(const Cluster &cluster, const CpuProduct &p) {
  const CpuMachine &cpu = cluster.cpu;
  const Rates rates = cpuRates(cluster);
  const auto workers = double(cluster.workers());
  const double coreFlops = p.elementBytes > 2 ? cpu.coreVectorFlops : cpu.coreFlops;
  const double flops = std::min(coreFlops, (p.elementBytes > 2 ? rates.vectorFlops : rates.flops) / workers);
  const int64_t active = std::max<int64_t>(std::min(p.groups, p.rows), 1);
  Tiles tiles;
  tiles.rows = cpu.tileRows;
  tiles.columns = cpu.tileColumns;
  tiles.columnTiles = llvm::divideCeil(p.columns, tiles.columns);
  tiles.rowTiles = std::max(active, int64_t(std::ceil(expectedRowTiles(active, p.rows, tiles.rows) - 0.01)));
  tiles.seconds = 2. * double(p.rows) * double(p.columns) * double(p.depth) / flops / double(tiles.count());
  const double weights = double(tiles.columns * p.depth * p.elementBytes) / (rates.bytesPerSecond / workers);
  tiles.first = std::max(tiles.seconds, weights);
  return tiles;
}
