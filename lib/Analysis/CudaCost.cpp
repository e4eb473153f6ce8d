//===- CudaCost.cpp - how long a product takes on a GPU -----------------------------------------------------------===//
//
// A model of the kernels that lib/Conversion/KernelToEmitC writes. Blocks take whole tiles, so the slowest one has the
// number of tiles per multiprocessor, rounded up. A step of a tile takes as long as its slowest resource: the tensor
// cores, shared memory (written once, read by both warpgroups), or the way from the L2 cache. Loads overlap products
// and, across tiles, the epilogue; the epilogue does not overlap products. Products of f32 are made by the threads,
// which read each weight from shared memory for two rows.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Analysis/CudaCost.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace moe_mlir;

static constexpr int64_t kRows = 128, kFewRows = 16, kRowBytes = 128, kLanesOfRow = 4;
// Cycles that are assumed: a wgmma of 16 columns, and the epilogue per column of a tile.
static constexpr double kNarrowProduct = 32, kEpiloguePerColumn = 4, kEpilogueOfFew = 300;

CudaEstimate moe_mlir::estimateProduct(const CudaDevice &device, const CudaProduct &p, int64_t blockColumns) {
  const int64_t active = std::max<int64_t>(std::min(p.groups, p.rows), 1);
  const int64_t rowsEach = llvm::divideCeil(p.rows, active);
  const bool byThreads = p.elementBytes == 4, few = !byThreads && rowsEach <= kFewRows;
  const int64_t depthOfStep = kRowBytes / p.elementBytes;
  const int64_t tiles = active * llvm::divideCeil(rowsEach, kRows) * llvm::divideCeil(p.columns, blockColumns);
  const double steps = llvm::divideCeil(p.depth, depthOfStep), pieces = blockColumns / 64.;

  const double weights = double(blockColumns) * kRowBytes, rows = double(few ? rowsEach : kRows) * kRowBytes;
  const double rate = byThreads ? device.vectorFlops : device.tensorFlops;
  const double multiply = few ? pieces * 4 * kNarrowProduct : 2. * kRows * double(blockColumns * depthOfStep) / rate;
  const double read = few         ? weights + pieces * kFewRows * kRowBytes
                      : byThreads ? kLanesOfRow * rows + kRows / 2 * weights
                                  : rows + 2 * weights;
  const double shared = (weights + rows + read) / device.sharedBytes;
  const double step = std::max({multiply, shared, (weights + rows) / device.cacheBytes});
  const double epilogue = few ? kEpilogueOfFew : kEpiloguePerColumn * double(blockColumns);
  const double cycles = double(llvm::divideCeil(tiles, device.multiprocessors)) * (steps * step + epilogue);

  const double flops = 2. * double(p.rows) * double(p.columns) * double(p.depth);
  const double bytes = double(p.elementBytes) *
                       (double(active * p.columns) * double(p.depth) + double(p.rows) * double(p.depth + p.columns));
  const double peak = byThreads ? device.vectorFlopsPerSecond() : device.flopsPerSecond();
  const double memory = bytes / device.memoryBytesPerSecond;
  return {std::max(cycles / device.hertz, memory), std::max(flops / peak, memory)};
}

CudaEstimate moe_mlir::estimateRows(const CudaDevice &device, const CudaRows &p) {
  const double bytes = double(p.bytes), flops = double(p.flops);
  const double floor = std::max(bytes / device.memoryBytesPerSecond, flops / device.vectorFlopsPerSecond());
  // A few multiprocessors cannot ask for as much as memory gives.
  const double busy = double(std::clamp<int64_t>(p.blocks, 1, device.multiprocessors));
  const double cycles = std::max(bytes / device.cacheBytes, flops / device.vectorFlops) / busy;
  return {std::max(cycles / device.hertz, floor), floor};
}

int64_t moe_mlir::chooseColumns(const CudaDevice &device, const CudaProduct &weight, int64_t least, int64_t most) {
  auto score = [&](int64_t columns) {
    double sum = 0;
    for (bool few : {false, true}) {
      CudaProduct product = weight;
      product.rows = nominalRows(weight.groups, few);
      const CudaEstimate estimate = estimateProduct(device, product, columns);
      sum += estimate.seconds / estimate.floor;
    }
    return sum;
  };
  int64_t best = std::min(least, most);
  for (int64_t columns = 2 * best; columns <= most; columns *= 2)
    if (score(columns) < score(best))
      best = columns;
  return best;
}
