//===- SharedMemoryTest.cpp - ordinary accesses to shared memory --------------------------------------------------===//

#include "Launching.h"

#include <sys/resource.h>

using namespace moe;

static const Options kOptions{.threads = 64, .sharedBytes = 1024};

TEST(SharedMemory, WindowStartsAtOneKiB) {
  EXPECT_CLEAN(kOptions, [] { EXPECT_EQ(dynamicShared(), 0x400u); });
}

TEST(SharedMemory, NeighboursExchangeWords) {
  EXPECT_CLEAN(kOptions, [] {
    const int t = threadIndex();
    storeShared(dynamicShared() + t * 4, float(t));
    syncBlock();
    EXPECT_EQ(loadShared<float>(dynamicShared() + (t + 1) % 64 * 4), float((t + 1) % 64));
  });
}

TEST(SharedMemory, AllWidths) {
  EXPECT_CLEAN(kOptions, [] {
    const SharedAddress a = dynamicShared() + threadIndex() * 16;
    storeShared(a, uint4{1, 2, 3, 4});
    EXPECT_EQ(loadShared<uint64_t>(a + 8), uint64_t(4) << 32 | 3);
    storeShared(a, uint64_t(7));
    EXPECT_EQ(loadShared<uint4>(a).x, 7u);
    EXPECT_EQ(loadShared<int>(a + 12), 4);
  });
}

TEST(SharedMemory, LoadOfUnwrittenMemory) {
  EXPECT_FAULT(kOptions, "load of shared memory 0x410 that was never written", [] { loadShared<float>(0x410); });
}

TEST(SharedMemory, NamesLineAndThread) {
  const int line = __LINE__ + 1;
  auto kernel = [] { loadShared<float>(0x400); };
  EXPECT_FAULT(Options{.threads = 32}, "SharedMemoryTest.cpp:" + std::to_string(line) + ": load outside shared",
               kernel);
  EXPECT_FAULT(kOptions, "[block 0 warp 1 lane 3]", [] {
    if (threadIndex() == 35)
      loadShared<float>(0x410);
  });
}

TEST(SharedMemory, OutsideAndMisaligned) {
  EXPECT_FAULT(kOptions, "load outside shared memory: 0x800 + 4", [] { loadShared<float>(0x800); });
  EXPECT_FAULT(kOptions, "misaligned shared load of 16 bytes at 0x404", [] { loadShared<uint4>(0x404); });
}

TEST(SharedMemory, MissingBarrierBetweenStoreAndLoad) {
  EXPECT_FAULT(kOptions, "load of shared memory 0x400 is not ordered after its write", [] {
    if (threadIndex() == 0)
      storeShared(0x400, 1);
    syncWarp();
    if (threadIndex() < 32 || threadIndex() == 40)
      loadShared<int>(0x400);
  });
}

TEST(SharedMemory, MissingBarrierBetweenLoadAndStore) {
  EXPECT_FAULT(kOptions, "store overwrites shared memory 0x400: not ordered after a load by thread", [] {
    if (threadIndex() == 0)
      storeShared(0x400, 1);
    syncBlock();
    loadShared<int>(0x400);
    if (threadIndex() == 0)
      storeShared(0x400, 2);
  });
}

TEST(SharedMemory, RaceOfTwoStores) {
  EXPECT_FAULT(kOptions, "store overwrites shared memory 0x400: not ordered after the previous write",
               [] { storeShared(0x400, 1); });
}

TEST(SharedMemory, NeighbouringWordsAreIndependent) {
  EXPECT_CLEAN(kOptions, [] {
    const SharedAddress own = dynamicShared() + threadIndex() * 4;
    storeShared(own, 1);
    loadShared<int>(own);
    storeShared(own, 2);
  });
}

TEST(SharedMemory, AtomicAdds) {
  EXPECT_CLEAN(kOptions, [] {
    if (threadIndex() == 0)
      storeShared(0x400, 0);
    syncBlock();
    addShared(0x400, 2);
    syncBlock();
    EXPECT_EQ(loadShared<uint32_t>(0x400), 128u);
  });
  EXPECT_FAULT(kOptions, "atomic add to shared memory 0x400 that was never written", [] { addShared(0x400, 1); });
}

/// A broadcast orders execution, but not memory: thread 8 loads after, or before, an add that it is not ordered with.
TEST(SharedMemory, AtomicAddsAndOrdinaryLoads) {
  const Options warp{.threads = 32, .sharedBytes = 1024};
  auto addAndLoad = [](bool loadFirst) {
    if (threadIndex() == 0)
      storeShared(0x400, 0);
    syncWarp();
    if (threadIndex() == (loadFirst ? 8 : 1))
      loadFirst ? loadShared<uint32_t>(0x400) : addShared(0x400, 1);
    broadcast(0, 0);
    if (threadIndex() == (loadFirst ? 1 : 8))
      loadFirst ? addShared(0x400, 1) : loadShared<uint32_t>(0x400);
  };
  EXPECT_FAULT(warp, "not ordered after a load by thread 8", [&] { addAndLoad(true); });
  EXPECT_FAULT(warp, "load of shared memory 0x400 is not ordered after its write", [&] { addAndLoad(false); });
}

/// Each of the blocks takes more than 1 MiB with what is known of its words, and few run at a time.
TEST(SharedMemory, EndedBlocksTakeNone) {
  auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024; // MiB
  };
  auto run = [](uint32_t sharedBytes) {
    const Options grid{.blocks = 1024, .threads = 32, .sharedBytes = sharedBytes, .residentBlocks = 4};
    return moe::emulation::launch(grid, [] { storeShared(0x400 + threadIndex() * 4, 1); }).ok();
  };
  // The stacks of the threads, which sanitizers make larger, are there with any shared memory.
  EXPECT_TRUE(run(1024));
  const long before = peak();
  EXPECT_TRUE(run(227 * 1024));
  EXPECT_LT(peak() - before, 512);
}
