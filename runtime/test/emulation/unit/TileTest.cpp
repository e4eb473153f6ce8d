//===- TileTest.cpp - mbarriers, TMA loads and stores -------------------------------------------------------------===//

#include "Launching.h"

using namespace moe;

namespace {

/// A tensor of 20 x 24 bf16 whose elements are their numbers, and its map with boxes of `boxRows` rows of `width`
/// bytes.
struct Tile : testing::Test {
  alignas(64) CUtensorMap map;
  std::vector<uint4> memory = std::vector<uint4>(20 * 24 / 8);
  Options options{.threads = 32, .sharedBytes = 16384};

  uint16_t *elements() { return reinterpret_cast<uint16_t *>(memory.data()); }
  void SetUp() override {
    for (int i = 0; i < 20 * 24; ++i)
      elements()[i] = uint16_t(i);
    moe::emulation::registerGlobal(memory.data(), 20 * 24 * 2, "tensor", true);
  }
  void TearDown() override { moe::emulation::clearGlobals(); }
  void encode(int width, int boxRows, bool swizzled = true) {
    ASSERT_EQ(moe::emulation::encodeTile2d(map, memory.data(), 2, 24, 20, 48, width / 2, boxRows, swizzled ? width : 0),
              "");
  }
  int expected(int x, int y) { return x < 0 || x >= 24 || y < 0 || y >= 20 ? 0 : y * 24 + x; }
};

constexpr SharedAddress kBarrier = 0x400 + 16000;

MOE_DEVICE void initOne(uint32_t arrivals = 1) {
  if (threadIndex() == 0) {
    initBarrier(kBarrier, arrivals);
    fenceBarrierInit();
  }
  syncBlock();
}

} // namespace

struct TileWidths : Tile, testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Swizzles, TileWidths, testing::Values(32, 64, 128));

/// The swizzle of loads is the one of layout.cuh; what lies outside the tensor arrives as zeros.
TEST_P(TileWidths, LoadIsSwizzledAndPadded) {
  const int width = GetParam();
  encode(width, 16);
  for (int x : {0, 8, 16, -8})
    for (int y : {0, 10, -3})
      EXPECT_CLEAN(options, [&] {
        initOne();
        if (threadIndex() == 0) {
          arriveExpect(kBarrier, 16 * width);
          loadTile2d(0x400, &map, kBarrier, x, y);
        }
        wait(kBarrier, 0);
        for (int i = threadIndex(); i < 16 * width / 4; i += 32) {
          const int row = i * 4 / width, column = i * 4 % width / 2;
          const uint32_t pair = loadShared<uint32_t>(swizzle(0x400 + i * 4, width));
          EXPECT_EQ(int(pair & 0xffff), expected(x + column, y + row));
          EXPECT_EQ(int(pair >> 16), expected(x + column + 1, y + row));
        }
      });
}

/// A store is the inverse of a load, and leaves alone what is not in the tensor.
TEST_P(TileWidths, StoreIsTheInverse) {
  const int width = GetParam();
  encode(width, 16);
  const std::vector<uint4> before = memory;
  EXPECT_CLEAN(options, [&] {
    for (int i = threadIndex(); i < 16 * width / 4; i += 32) {
      const int row = i * 4 / width, column = i * 4 % width / 2;
      storeShared(swizzle(0x400 + i * 4, width),
                  uint32_t(expected(8 + column, 10 + row) | expected(9 + column, 10 + row) << 16));
    }
    fenceProxyAsync();
    syncWarp();
    if (threadIndex() == 0) {
      storeTile2d(&map, 0x400, 8, 10);
      commitTileStores();
      waitTileStores<0>();
    }
    syncWarp();
    EXPECT_EQ(loadGlobal(elements() + 19 * 24 + threadIndex() % 24), 19 * 24 + threadIndex() % 24);
  });
  EXPECT_EQ(memcmp(before.data(), memory.data(), 20 * 24 * 2), 0);
}

TEST_F(Tile, EncodeRefusesWhatTheDriverRefuses) {
  using moe::emulation::encodeTile2d;
  const char *base = reinterpret_cast<const char *>(memory.data());
  EXPECT_EQ(encodeTile2d(map, base + 2, 2, 8, 8, 48, 8, 8, 0), "tensor map: the base must be 16-byte aligned");
  EXPECT_NE(encodeTile2d(map, base, 2, 8, 8, 40, 8, 8, 0), "");
  EXPECT_NE(encodeTile2d(map, base, 2, 24, 20, 48, 4, 8, 0), "");
  EXPECT_NE(encodeTile2d(map, base, 2, 24, 20, 48, 8, 257, 0), "");
  EXPECT_NE(encodeTile2d(map, base, 2, 24, 20, 48, 8, 8, 128), "");
}

TEST_F(Tile, MisusedBarriers) {
  EXPECT_FAULT(options, "never initialised", [] { arrive(kBarrier); });
  EXPECT_FAULT(options, "initialised twice", [] { initBarrier(0x400 + threadIndex() / 2 * 8, 1); });
  EXPECT_FAULT(options, "more arrivals than its count of 1", [] {
    initOne();
    if (threadIndex() < 2)
      arriveExpect(kBarrier, 16);
  });
  EXPECT_FAULT(options, "more than 2^20 - 1 bytes", [] {
    initOne();
    if (threadIndex() == 0)
      arriveExpect(kBarrier, 1 << 20);
  });
  EXPECT_FAULT(options, "initialis", [] {
    if (threadIndex() == 0)
      initBarrier(kBarrier, 32);
    arrive(kBarrier);
  });
  EXPECT_FAULT(options, "parity of an mbarrier is 0 or 1", [] { tryWait(kBarrier, 2); });
  EXPECT_FAULT(options, "ordinary load of mbarrier memory", [] {
    initOne();
    loadShared<uint64_t>(kBarrier);
  });
}

TEST_F(Tile, MisusedLoads) {
  encode(64, 16);
  auto load = [&](SharedAddress to, uint32_t bytes) {
    initOne();
    if (threadIndex() == 0) {
      arriveExpect(kBarrier, bytes);
      loadTile2d(to, &map, kBarrier, 0, 0);
    }
  };
  EXPECT_FAULT(options, "is not aligned to 512 bytes", [&] { load(0x480, 1024); });
  EXPECT_FAULT(options, "TMA load outside shared memory", [&] { load(0x4200, 1024); });
  EXPECT_FAULT(options, "still expects 16 bytes", [&] { load(0x400, 1040); });
  EXPECT_FAULT(options, "more bytes than were expected", [&] {
    load(0x400, 512);
    wait(kBarrier, 0);
  });
  EXPECT_FAULT(options, "shared memory 0x400", [&] { // in flight, or not waited for
    load(0x400, 1024);
    loadShared<int>(0x400);
  });
  EXPECT_FAULT(options, "ordinary store before it, without fence.proxy.async", [&] {
    if (threadIndex() == 0)
      storeShared(0x400, 1);
    load(0x400, 1024);
    wait(kBarrier, 0);
  });
}

/// What the launch has written to global memory is loaded: only the fence for all memory makes it visible to TMA.
TEST_F(Tile, LoadAfterOrdinaryStoresToGlobalMemory) {
  encode(64, 16);
  auto load = [&](void (*fence)()) {
    initOne();
    storeGlobal(elements() + threadIndex(), uint16_t(7));
    fence();
    syncBlock();
    if (threadIndex() == 0) {
      arriveExpect(kBarrier, 1024);
      loadTile2d(0x400, &map, kBarrier, 0, 0);
    }
    wait(kBarrier, 0);
    EXPECT_EQ(loadShared<uint32_t>(0x400), 0x70007u);
  };
  const char *fault = "without fence.proxy.async of global memory in between";
  EXPECT_CLEAN(options, [&] { load([] { fenceProxyAsync(); }); });
  EXPECT_FAULT(options, fault, [&] { load([] { fenceProxyAsyncShared(); }); });
  EXPECT_FAULT(options, fault, [&] { load([] {}); });
}

/// A tile is stored where the launch has written by ordinary stores.
TEST_F(Tile, StoreAfterOrdinaryStoresToGlobalMemory) {
  encode(64, 1);
  auto store = [&](void (*fence)()) {
    if (threadIndex() < 24)
      storeGlobal(elements() + threadIndex(), uint16_t(7));
    if (threadIndex() < 16)
      storeShared(0x400 + threadIndex() * 4, 1);
    fence();
    syncWarp();
    if (threadIndex() == 0) {
      storeTile2d(&map, 0x400, 0, 0);
      commitTileStores();
      waitTileStores<0>();
    }
  };
  EXPECT_CLEAN(options, [&] { store([] { fenceProxyAsync(); }); });
  EXPECT_FAULT(options, "of global memory in between", [&] { store([] { fenceProxyAsyncShared(); }); });
}

/// A stage that was read by ordinary accesses is loaded again.
TEST_F(Tile, LoadAfterOrdinaryReads) {
  encode(64, 16);
  auto twice = [&](bool fence, bool all = false) {
    initOne();
    for (uint32_t round = 0; round < 2; ++round) {
      if (threadIndex() == 0) {
        arriveExpect(kBarrier, 1024);
        loadTile2d(0x400, &map, kBarrier, 0, 0);
      }
      wait(kBarrier, round);
      loadShared<int>(0x400 + 4 * threadIndex());
      if (fence)
        all ? fenceProxyAsync() : fenceProxyAsyncShared();
      syncBlock();
    }
  };
  EXPECT_CLEAN(options, [&] { twice(true); });
  EXPECT_CLEAN(options, [&] { twice(true, true); });
  EXPECT_FAULT(options, "ordinary load before it, without fence.proxy.async", [&] { twice(false); });
}

/// Whose memory is free: what is in flight must not touch it. The mbarrier expects nothing, so it does not tell.
TEST_F(Tile, LoadOutlivesItsBlock) {
  encode(64, 16);
  options.timing = Timing::Lazy;
  EXPECT_EQ(moe::emulation::launch(options,
                                   [&] {
                                     initOne(2);
                                     if (threadIndex() == 0)
                                       loadTile2d(0x800, &map, kBarrier, 0, 0);
                                   })
                .fault,
            "block 0 ends while a TMA load in flight writes its shared memory at 0x800");
}

TEST_F(Tile, MisusedStores) {
  encode(64, 1);
  auto stage = [&](bool fence) {
    if (threadIndex() < 16)
      storeShared(0x400 + threadIndex() * 4, 1);
    if (fence)
      fenceProxyAsync();
    syncWarp();
    if (threadIndex() == 0)
      storeTile2d(&map, 0x400, 0, 0);
  };
  EXPECT_FAULT(options, "ordinary store without fence.proxy.async", [&] { stage(false); });
  EXPECT_FAULT(options, "that was never written", [&] {
    if (threadIndex() == 0)
      storeTile2d(&map, 0x400, 0, 0);
  });
  EXPECT_FAULT(options, "ends while a TMA store still reads", [&] { stage(true); });
  EXPECT_FAULT(options, "store overwrites shared memory 0x400", [&] {
    stage(true);
    if (threadIndex() == 0)
      storeShared(0x400, 2);
  });
  EXPECT_FAULT(options, "not ordered after the TMA store of block 0", [&] { // .read says nothing about global memory
    stage(true);
    if (threadIndex() == 0) {
      commitTileStores();
      waitTileStoresRead<0>();
      loadGlobal(elements());
    }
  });
}
