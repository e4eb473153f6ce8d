// Cycles from the issue of one access to its data, with nothing else on the way: a box of TMA, a warpgroup's copies of
// 16 bytes, and loads that depend on each other.
#include "device.cuh"
using namespace moe;

/// The first four numbers of `cycles`: cycles at the start and at the end of the launch, then nanoseconds.
MOE_DEVICE void writeWhole(uint64_t *cycles, int end) {
  storeGlobal(cycles + end, cycleCount());
  storeGlobal(cycles + 2 + end, globalTime());
}

/// One box of `rowsOfBox` rows of 128 bytes after the other, `stride` boxes apart from box `first` on. cycles[4 + i]:
/// from the issue to the full barrier. sums[0]: of the first word of each box.
extern "C" __global__ void __launch_bounds__(32, 1)
    roundTripBox(uint64_t *cycles, uint32_t *sums, int64_t boxes, int64_t first, int64_t stride, int64_t rowsOfBox,
                 const __grid_constant__ CUtensorMap map) {
  const SharedAddress barrier = dynamicShared(), box = barrier + 1024;
  if (threadIndex() != 0)
    return;
  initBarrier(barrier, 1);
  fenceBarrierInit();
  uint32_t sum = 0;
  writeWhole(cycles, 0);
  for (int64_t i = 0; i < boxes; ++i) {
    const int row = int((first + i * stride) * rowsOfBox);
    const uint64_t start = cycleCount();
    arriveExpect(barrier, uint32_t(rowsOfBox) * 128);
    loadTile2d(box, &map, barrier, 0, row);
    wait(barrier, uint32_t(i % 2));
    storeGlobal(cycles + 4 + i, cycleCount() - start);
    sum += loadShared<uint32_t>(box);
    fenceProxyAsyncShared();
  }
  writeWhole(cycles, 1);
  storeGlobal(sums, sum);
}

/// 128 threads copy 16 bytes each from rows of 128 bytes, 8 threads to a row, as the loaders of products do; groups of
/// 16 rows are `stride` groups apart from group `first` on. sums[thread]: of the first words that it copied.
extern "C" __global__ void __launch_bounds__(128, 1)
    roundTripCopies(uint64_t *cycles, uint32_t *sums, const uint4 *from, int64_t groups, int64_t first,
                    int64_t stride) {
  const SharedAddress to = dynamicShared() + 16 * threadIndex();
  uint32_t sum = 0;
  if (threadIndex() == 0)
    writeWhole(cycles, 0);
  for (int64_t i = 0; i < groups; ++i) {
    syncBlock();
    const uint64_t start = cycleCount();
    copyAsync(to, from + (first + i * stride) * 128 + threadIndex(), 16);
    commitCopies();
    waitCopies<0>();
    if (threadIndex() == 0)
      storeGlobal(cycles + 4 + i, cycleCount() - start);
    sum += loadShared<uint32_t>(to);
  }
  if (threadIndex() == 0)
    writeWhole(cycles, 1);
  storeGlobal(sums + threadIndex(), sum);
}

/// `steps` loads, each from where the one before says: at = next[at], from 0 on. sums[0]: where they end.
extern "C" __global__ void __launch_bounds__(32, 1)
    roundTripLoads(uint64_t *cycles, uint32_t *sums, const int32_t *next, int64_t steps) {
  if (threadIndex() != 0)
    return;
  int32_t at = 0;
  writeWhole(cycles, 0);
  for (int64_t i = 0; i < steps; ++i)
    at = loadGlobal(next + at);
  writeWhole(cycles, 1); // the last load may still be on its way
  storeGlobal(sums, uint32_t(at));
}
