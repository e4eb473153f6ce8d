//===- CudaCost.cpp - how long a kernel takes on a GPU ------------------------------------------------------------===//
//
// A model of the kernels that lib/Conversion/KernelToCuda makes. Blocks take whole tiles, so the slowest one has the
// number of tiles per multiprocessor, rounded up. A step of a tile takes as long as its slowest resource: the tensor
// cores, shared memory (written once, read by both warpgroups), or the way from the L2 cache. Loads overlap products
// and, across tiles, the epilogue; the epilogue does not overlap products, and neither does the walk over the records
// of the layout to the block's next tile. Products of f32 are made by the threads, which read each weight from shared
// memory for two rows.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Analysis/CudaCost.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace moe_mlir;

static constexpr int64_t kRowBytes = 128, kLanesOfRow = 4;
static constexpr int64_t kProductRows = 64, kProductDepth = 16; // of a wgmma
// Cycles that are assumed: a wgmma of few columns, at least; the epilogue of few rows, for each of these; a record of
// the layout, which is a load that the next one waits for, and divisions. Results go from registers to memory at so
// many bytes per cycle, in whole sectors of 32 bytes if a thread stores 8 or more.
static constexpr double kNarrowProduct = 32, kEpilogueOfFew = 300. / 16, kRecord = 275, kStoredBytes = 30;

double moe_mlir::expectedRowTiles(int64_t groups, int64_t rows, int64_t tileRows) {
  if (groups <= 1)
    return double(llvm::divideCeil(rows, tileRows));
  // The sum over j of the chance that a group has more than j tiles; the rows of a group are nearly normal.
  const double mean = double(rows) / double(groups);
  const double deviation = std::sqrt(mean * (1 - 1 / double(groups)));
  double tiles = 0;
  for (int64_t j = 0; j * tileRows <= rows; ++j) {
    double chance = std::erfc((double(j * tileRows) + 0.5 - mean) / (deviation * std::sqrt(2.))) / 2;
    tiles += chance;
    if (chance < 1e-9)
      break;
  }
  return std::max(tiles * double(groups), 1.);
}

/// Cycles of the multiprocessor for the results of a tile of many rows.
static double epilogueCycles(const CudaDevice &device, const CudaEpilogue &epilogue, const CudaTile &tile) {
  const double results = double(tile.rows * tile.columns / epilogue.columns);
  // An instruction of 128 lanes per cycle; special functions have units of their own.
  const double computed =
      std::max(double(epilogue.operations) / (device.vectorFlops / 2), double(epilogue.specials) / device.specials);
  // A thread holds two neighbouring columns of an accumulator, and of two accumulators one each.
  const bool wholeSectors = 2 * epilogue.resultBytes >= 8;
  const double stored = double(epilogue.resultBytes) / kStoredBytes * (wholeSectors ? 1 : 2);
  return results * std::max(computed, stored); // warps store while others compute
}

CudaEstimate moe_mlir::estimateProduct(const CudaDevice &device, const CudaProduct &p, const CudaTile &tile,
                                       int64_t bytes) {
  const int64_t active = std::max<int64_t>(std::min(p.groups, p.rows), 1);
  const int64_t rowsEach = llvm::divideCeil(p.rows, active);
  const bool byThreads = p.elementBytes == 4, few = !byThreads && rowsEach <= tile.fewRows;
  const int64_t depthOfStep = kRowBytes / p.elementBytes;
  // Few rows are multiplied strip by strip, whatever the columns of a block.
  const int64_t columns = few ? std::min(tile.columns, tile.fewColumns) : tile.columns;
  const double rowTiles = few ? double(active) : expectedRowTiles(active, p.rows, tile.rows);
  const double tiles = rowTiles * double(llvm::divideCeil(p.columns, columns));
  const double rounds = std::ceil(tiles / double(device.multiprocessors));
  const double steps = double(llvm::divideCeil(p.depth, depthOfStep)), pieces = double(columns) / 64;

  const double weights = double(columns) * kRowBytes, rows = double(few ? rowsEach : tile.rows) * kRowBytes;
  const double rate = byThreads ? device.vectorFlops : device.tensorFlops;
  const double product = 2. * kProductRows * double(tile.fewRows * kProductDepth) / rate;
  const double multiply = few ? pieces * double(depthOfStep / kProductDepth) * std::max(product, kNarrowProduct)
                              : 2. * tile.rows * double(columns * depthOfStep) / rate;
  const double read = few         ? weights + pieces * tile.fewRows * kRowBytes
                      : byThreads ? kLanesOfRow * rows + tile.rows / 2 * weights
                                  : rows + 2 * weights;
  const double shared = (weights + rows + read) / device.sharedBytes;
  const double cache = (weights + rows) / device.cacheBytes;
  const double epilogue = few ? kEpilogueOfFew * tile.fewRows : epilogueCycles(device, p.epilogue, tile);
  // Every block walks over the records of all experts that have rows; without groups there are none.
  const double records = p.groups > 1 ? double(active) : 0;

  // Busy tensor cores lower the clock of everything but the L2 cache.
  const double hertz = few || byThreads ? device.hertz : device.limitedHertz;
  const double floats = 2. * double(p.rows) * double(p.columns) * double(p.depth);
  const double moved = bytes
                           ? double(bytes)
                           : double(p.elementBytes) * (double(active * p.columns) + double(p.rows)) * double(p.depth) +
                                 double(p.rows * (p.columns / p.epilogue.columns) * p.epilogue.resultBytes);
  const double peak = byThreads ? device.vectorFlopsPerSecond() : device.flopsPerSecond();
  CudaEstimate result;
  result.floor = std::max(floats / peak, moved / device.memoryBytesPerSecond);
  const double loop = rounds * steps;
  result.terms = {
      {byThreads ? llvm::StringLiteral("fma") : llvm::StringLiteral("tensor cores"), loop * multiply / hertz},
      {"shared memory", loop * shared / hertz},
      {"L2", loop * cache / device.hertz},
      {"epilogue", rounds * epilogue / hertz},
      {"tile list", records * kRecord / hertz},
      {"memory", moved / device.reachableBytesPerSecond}};
  auto &t = result.terms;
  const double inTurn = std::max({t[0].seconds, t[1].seconds, t[2].seconds}) + t[3].seconds + t[4].seconds;
  result.seconds = std::max({inTurn, t[5].seconds, result.floor});
  return result;
}

CudaEstimate moe_mlir::estimateRows(const CudaDevice &device, const CudaRows &p) {
  const double bytes = double(p.bytes), flops = double(p.flops);
  // A few multiprocessors cannot ask for as much as memory gives.
  const double busy = double(std::clamp<int64_t>(p.blocks, 1, device.multiprocessors)) * device.hertz;
  CudaEstimate result;
  result.floor = std::max(bytes / device.memoryBytesPerSecond, flops / device.vectorFlopsPerSecond());
  result.terms = {{"operations", flops / device.vectorFlops / busy},
                  {"L2", bytes / device.cacheBytes / busy},
                  {"memory", bytes / device.reachableBytesPerSecond}};
  for (const CudaTerm &term : result.terms)
    result.seconds = std::max(result.seconds, term.seconds);
  return result;
}

int64_t moe_mlir::chooseColumns(const CudaDevice &device, const CudaProduct &weight, int64_t least, CudaTile largest) {
  auto score = [&](int64_t columns) {
    const CudaTile tile{largest.rows, columns, largest.fewRows};
    double sum = 0;
    for (bool few : {false, true}) {
      CudaProduct product = weight;
      product.rows = nominalRows(weight.groups, few);
      const CudaEstimate estimate = estimateProduct(device, product, tile);
      sum += estimate.seconds / estimate.floor;
    }
    return sum;
  };
  int64_t best = std::min(least, largest.columns);
  for (int64_t columns = 2 * best; columns <= largest.columns; columns *= 2)
    if (score(columns) < score(best))
      best = columns;
  return best;
}
