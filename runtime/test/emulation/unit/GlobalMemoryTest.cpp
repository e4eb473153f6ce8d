//===- GlobalMemoryTest.cpp - global memory, flags, time ----------------------------------------------------------===//

#include "Launching.h"

using namespace moe;

static const Options kTwoBlocks{.blocks = 2, .threads = 32, .sharedBytes = 1024};

template <typename T> static void roundTrip() {
  Buffer<T> buffer(64, "buffer");
  EXPECT_CLEAN(kTwoBlocks, [&] {
    T *own = buffer + (blockIndex() * 32 + threadIndex());
    T value;
    memset(&value, threadIndex(), sizeof value);
    storeGlobal(own, value);
    const T loaded = loadGlobal(own);
    EXPECT_EQ(memcmp(&loaded, &value, sizeof value), 0);
  });
}

TEST(GlobalMemory, AllWidths) {
  roundTrip<uint8_t>();
  roundTrip<Bf16>();
  roundTrip<float>();
  roundTrip<uint64_t>();
  roundTrip<uint4>();
}

TEST(GlobalMemory, Misuse) {
  Buffer<uint32_t> buffer(4, "buffer"), constant(4, "weights", false);
  EXPECT_FAULT(kTwoBlocks, "load of 4 bytes outside every registered buffer", [&] { loadGlobal(buffer + 4); });
  EXPECT_FAULT(kTwoBlocks, "store to read-only weights", [&] { storeGlobal(constant + 0, 1u); });
  EXPECT_FAULT(kTwoBlocks, "misaligned load of 4 bytes",
               [&] { loadGlobal(reinterpret_cast<uint32_t *>(reinterpret_cast<char *>(buffer + 0) + 2)); });
  EXPECT_FAULT(kTwoBlocks, "store of buffer at byte 4 is not ordered after the store of block",
               [&] { storeGlobal(buffer + 1, 1u); });
  EXPECT_FAULT(kTwoBlocks, "streamed load of buffer at byte 0, which this launch writes", [&] {
    if (threadIndex() == 0 && blockIndex() == 0) {
      storeGlobal(buffer + 0, 1u);
      loadStreamed(reinterpret_cast<uint4 *>(buffer + 0));
    }
  });
}

/// Two threads write the halves of a word: no race. Two write the same half: a race.
TEST(GlobalMemory, SmallStoresAreSeenApart) {
  Buffer<uint16_t> buffer(2, "buffer");
  EXPECT_CLEAN(kTwoBlocks, [&] {
    if (threadIndex() == 0)
      storeGlobal(buffer + blockIndex(), uint16_t(1));
  });
  EXPECT_FAULT(kTwoBlocks, "is not ordered after the store of block", [&] {
    if (threadIndex() == 0)
      storeGlobal(buffer + 0, uint16_t(1));
  });
}

TEST(GlobalMemory, FlagsHandOverWrites) {
  Buffer<uint32_t> buffer(2, "buffer");
  auto exchange = [&](bool synchronised) {
    if (blockIndex() == 0 && threadIndex() == 0)
      *(buffer + 1) = 0; // before the launch, so to speak
    if (threadIndex())
      return;
    if (blockIndex() == 0) {
      storeGlobal(buffer + 0, 7u);
      addRelease(buffer + 1, 1u);
    } else {
      while (synchronised && loadAcquire(buffer + 1) == 0)
        backOff();
      EXPECT_EQ(loadGlobal(buffer + 0), 7u);
    }
  };
  for (int i = 0; i < 3; ++i) {
    buffer.data[1] = 0;
    Options options = kTwoBlocks;
    options.seed = i;
    EXPECT_EQ(moe::emulation::launch(options, [&] { exchange(true); }).fault, "");
  }
  buffer.data[0] = 7;
  EXPECT_FAULT(kTwoBlocks, "load of buffer at byte 0 is not ordered after the store of block 0",
               [&] { exchange(false); });
}

TEST(GlobalMemory, AtomicUpdates) {
  Buffer<uint32_t> buffer(2, "buffer");
  EXPECT_EQ(moe::emulation::launch(kTwoBlocks,
                                   [&] {
                                     addGlobal(buffer + 0, 1u);
                                     compareExchangeRelease(buffer + 1, 0u, 5u + blockIndex());
                                   })
                .fault,
            "");
  EXPECT_EQ(buffer.data[0], 64u);
  EXPECT_TRUE(buffer.data[1] == 5 || buffer.data[1] == 6);
  EXPECT_FAULT(kTwoBlocks, "is not ordered after the atomic updates of it", [&] {
    addGlobal(buffer + 0, 1u);
    loadGlobal(buffer + 0);
  });
}

/// A store with release hands over what the thread knew, as addRelease does, and nothing of who wrote before.
TEST(GlobalMemory, ReleaseStores) {
  Buffer<uint32_t> buffer(2, "buffer");
  auto exchange = [&](bool released) {
    if (threadIndex())
      return;
    if (blockIndex() == 0) {
      storeGlobal(buffer + 0, 7u);
      if (released)
        storeRelease(buffer + 1, 1u);
      else
        storeGlobal(buffer + 1, 1u);
    } else {
      while (loadAcquire(buffer + 1) == 0)
        backOff();
      EXPECT_EQ(loadGlobal(buffer + 0), 7u);
    }
  };
  for (int i = 0; i < 3; ++i) {
    buffer.data[1] = 0;
    Options options = kTwoBlocks;
    options.seed = i;
    EXPECT_EQ(moe::emulation::launch(options, [&] { exchange(true); }).fault, "");
  }
  buffer.data[1] = 0;
  EXPECT_FAULT(kTwoBlocks, "load of buffer at byte 0 is not ordered after the store of block 0",
               [&] { exchange(false); });
  EXPECT_FAULT(kTwoBlocks, "misaligned release store of 4 bytes",
               [&] { storeRelease(reinterpret_cast<uint32_t *>(reinterpret_cast<char *>(buffer + 0) + 2), 1u); });
}

/// The block that is last to add sees what all have written.
TEST(GlobalMemory, LastBlockSeesAll) {
  Buffer<uint32_t> buffer(5, "buffer");
  Options options{.blocks = 4, .threads = 32};
  for (uint64_t seed = 1; seed < 6; ++seed) {
    options.seed = seed;
    buffer.data[4] = 0;
    const Report report = moe::emulation::launch(options, [&] {
      if (threadIndex())
        return;
      storeGlobal(buffer + blockIndex(), uint32_t(blockIndex()));
      if (addAcquireRelease(buffer + 4, 1u) == 3)
        for (int i = 0; i < 4; ++i)
          EXPECT_EQ(loadGlobal(buffer + i), uint32_t(i));
    });
    EXPECT_EQ(report.fault, "");
  }
}

TEST(Wait, DeadlinePassesInVirtualTime) {
  Buffer<uint32_t> buffer(2, "words");
  EXPECT_CLEAN(kTwoBlocks, [&] { EXPECT_EQ(waitCounter(buffer + 0, 1, buffer + 1, 1000000000), Wait::TimedOut); });
  buffer.data[1] = 1;
  EXPECT_CLEAN(kTwoBlocks, [&] { EXPECT_EQ(waitCounter(buffer + 0, 1, buffer + 1, 1000000000), Wait::Aborted); });
  buffer.data[0] = 0xfffffffe; // counters wrap around
  EXPECT_CLEAN(kTwoBlocks, [&] { EXPECT_EQ(waitCounter(buffer + 0, 0xfffffffd, buffer + 1, 1), Wait::Ready); });
}
