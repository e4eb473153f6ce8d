// Cycles of what the roles of a product do besides products: meetings, barriers, registers handed over.
#include "device.cuh"
using namespace moe;

/// 384 threads. cycles[0]: of `rounds` meetings of the block; cycles[1]: of as many arrivals of eight warps at an
/// mbarrier and waits for them; cycles[2]: of as many times that a warpgroup gives registers back and gets them again.
/// sums[0]: how many rounds thread 0 has seen, three times.
extern "C" __global__ void __launch_bounds__(384, 1) costs(uint64_t *cycles, uint32_t *sums, int64_t rounds) {
  const SharedAddress barrier = dynamicShared();
  if (threadIndex() == 0) {
    initBarrier(barrier, 8);
    fenceBarrierInit();
  }
  uint32_t seen = 0;
  syncBlock();
  uint64_t start = cycleCount();
  for (int64_t i = 0; i < rounds; ++i) {
    syncBlock();
    ++seen;
  }
  if (threadIndex() == 0)
    storeGlobal(cycles, cycleCount() - start);
  syncBlock();
  start = cycleCount();
  if (threadIndex() < 256)
    for (int64_t i = 0; i < rounds; ++i) {
      syncWarp(); // no lane may fall a round behind
      if (threadIndex() % 32 == 0)
        arrive(barrier);
      wait(barrier, uint32_t(i % 2));
      ++seen;
    }
  if (threadIndex() == 0)
    storeGlobal(cycles + 1, cycleCount() - start);
  syncBlock();
  start = cycleCount();
  if (threadIndex() < 128)
    for (int64_t i = 0; i < rounds; ++i) {
      decreaseRegisters<56>();
      increaseRegisters<168>();
      ++seen;
    }
  if (threadIndex() == 0) {
    storeGlobal(cycles + 2, cycleCount() - start);
    storeGlobal(sums, seen);
  }
}
