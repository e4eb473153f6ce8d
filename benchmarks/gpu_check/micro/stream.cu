// How many bytes per cycle reach a multiprocessor, from the L2 cache or from memory: by boxes of TMA through a ring, or
// by plain loads. Each block begins at a place of its own in the set and runs around it.
#include "device.cuh"
using namespace moe;

/// Cycles and nanoseconds at the start and at the end of a block: four numbers of `times`.
MOE_DEVICE void writeTime(uint64_t *times, int end) {
  storeGlobal(times + 4 * blockIndex() + end, cycleCount());
  storeGlobal(times + 4 * blockIndex() + 2 + end, globalTime());
}

/// The set has `boxesOfSet` boxes of `rowsOfBox` rows of 128 bytes (a multiple of 16 rows), from box `firstBox` on; a
/// block reads `boxes` of them, `stages` (1 to 64) at a time. A lane adds up what it finds at byte 64 * lane of each
/// box: sums[32 * block + lane].
extern "C" __global__ void __launch_bounds__(64, 1)
    streamBoxes(uint32_t *sums, uint64_t *times, int64_t boxes, int64_t firstBox, int64_t boxesOfSet, int64_t rowsOfBox,
                int64_t stages, const __grid_constant__ CUtensorMap map) {
  const SharedAddress barriers = dynamicShared(), ring = barriers + 1024;
  const uint32_t boxBytes = uint32_t(rowsOfBox) * 128;
  if (threadIndex() == 0) {
    for (int i = 0; i < int(stages); ++i) {
      initBarrier(barriers + 16 * i, 1);
      initBarrier(barriers + 16 * i + 8, 1);
    }
    fenceBarrierInit();
  }
  syncBlock();
  int stage = 0;
  uint32_t parity = 0;
  if (threadIndex() == 0) {
    writeTime(times, 0);
    int64_t box = boxesOfSet / blockCount() * blockIndex();
    for (int64_t i = 0; i < boxes; ++i) {
      const SharedAddress full = barriers + 16 * stage;
      wait(full + 8, parity ^ 1);
      arriveExpect(full, boxBytes);
      loadTile2d(ring + boxBytes * stage, &map, full, 0, int((firstBox + box) * rowsOfBox));
      box = box + 1 == boxesOfSet ? 0 : box + 1;
      if (++stage == int(stages)) {
        stage = 0;
        parity ^= 1;
      }
    }
  } else if (threadIndex() >= 32) {
    const int lane = threadIndex() - 32;
    uint32_t sum = 0;
    for (int64_t i = 0; i < boxes; ++i) {
      const SharedAddress full = barriers + 16 * stage;
      wait(full, parity);
      sum += loadShared<uint32_t>(ring + boxBytes * stage + 64 * lane);
      fenceProxyAsyncShared(); // before TMA overwrites what was read
      syncWarp();
      if (lane == 0)
        arrive(full + 8);
      if (++stage == int(stages)) {
        stage = 0;
        parity ^= 1;
      }
    }
    if (lane == 0)
      writeTime(times, 1);
    storeGlobal(sums + 32 * blockIndex() + lane, sum);
  }
}

/// Every block reads the whole set of `vectors` times 16 bytes (a multiple of eight times its threads) `rounds` times,
/// eight loads of a thread at a time. sums[thread of the grid]: the sum of all words that the thread has read.
extern "C" __global__ void __launch_bounds__(1024, 1)
    streamLoads(uint32_t *sums, uint64_t *times, const uint4 *set, int64_t vectors, int64_t rounds) {
  const int64_t step = 8 * threadCount(), steps = vectors / step;
  int64_t at = steps / blockCount() * blockIndex();
  uint32_t sum = 0;
  syncBlock();
  if (threadIndex() == 0)
    writeTime(times, 0);
  for (int64_t i = 0; i < rounds * steps; ++i) {
    const uint4 *from = set + at * step + threadIndex();
    at = at + 1 == steps ? 0 : at + 1;
    uint4 v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j)
      v[j] = loadStreamed(from + j * threadCount());
#pragma unroll
    for (int j = 0; j < 8; ++j)
      sum += v[j].x + v[j].y + v[j].z + v[j].w;
  }
  storeGlobal(sums + blockIndex() * threadCount() + threadIndex(), sum);
  syncBlock();
  if (threadIndex() == 0)
    writeTime(times, 1);
}
