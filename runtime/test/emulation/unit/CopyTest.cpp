//===- CopyTest.cpp - asynchronous copies of 16 bytes -------------------------------------------------------------===//

#include "Launching.h"

using namespace moe;

namespace {
struct Copies : testing::Test {
  Options options{.threads = 32, .sharedBytes = 1024};
  Buffer<uint4> source{64, "source"};

  void SetUp() override {
    for (uint32_t i = 0; i < 64; ++i)
      source.data[i] = {4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3};
  }
};
} // namespace

static SharedAddress mine() { return 0x400 + threadIndex() * 16; }

TEST_F(Copies, BringTheFirstBytesAndZeros) {
  for (uint32_t bytes : {0, 4, 8, 16})
    EXPECT_CLEAN(options, [&] {
      copyAsync(mine(), source + threadIndex(), bytes);
      commitCopies();
      waitCopies<0>();
      const uint4 v = loadShared<uint4>(mine());
      EXPECT_EQ(v.x, bytes >= 4 ? uint32_t(threadIndex() * 4) : 0);
      EXPECT_EQ(v.y, bytes >= 8 ? uint32_t(threadIndex() * 4 + 1) : 0);
      EXPECT_EQ(v.w, bytes == 16 ? uint32_t(threadIndex() * 4 + 3) : 0);
    });
}

/// What is not copied need not be there.
TEST_F(Copies, OfNothingReadNothing) {
  EXPECT_CLEAN(options, [&] {
    copyAsync(mine(), nullptr, 0);
    commitCopies();
    waitCopies<0>();
    EXPECT_EQ(loadShared<uint4>(mine()).z, 0u);
  });
  EXPECT_FAULT(options, "asynchronous copy of 16 bytes outside every registered buffer",
               [&] { copyAsync(mine(), source + 63 + threadIndex() / 31, 16); });
}

/// A group is done when at most the later ones are in flight; the neighbour knows it after a meeting.
TEST_F(Copies, AreInFlightUntilTheWaitForTheirGroup) {
  auto two = [&](auto wait) {
    for (int group = 0; group < 2; ++group) {
      copyAsync(mine() + group * 512, source + threadIndex() + 32 * group, 16);
      commitCopies();
    }
    wait();
    syncWarp();
    const int other = threadIndex() ^ 1;
    EXPECT_EQ(loadShared<uint4>(0x400 + other * 16).x, uint32_t(other * 4));
    waitCopies<0>();
  };
  EXPECT_CLEAN(options, [&] { two([] { waitCopies<1>(); }); });
  EXPECT_FAULT(options, "an asynchronous copy in flight writes", [&] { two([] { waitCopies<2>(); }); });
  EXPECT_FAULT(options, "an asynchronous copy in flight writes", [&] { two([] {}); });
  EXPECT_FAULT(options, "an asynchronous copy in flight writes", [&] {
    copyAsync(mine() + 512, source + threadIndex(), 16);
    commitCopies();
    loadShared<int>(mine() + 512);
  });
  EXPECT_FAULT(options, "load of shared memory 0x", [&] { // another thread's, without a meeting
    copyAsync(mine(), source + threadIndex(), 16);
    commitCopies();
    waitCopies<0>();
    loadShared<uint4>(0x400 + (threadIndex() ^ 1) * 16);
  });
}

/// An arrival hands over what the thread has issued before it, committed or not, to those who wait for the mbarrier.
TEST_F(Copies, ArriveAtAnMbarrier) {
  constexpr SharedAddress barrier = 0x400 + 512;
  auto handOver = [&](auto copy, auto read) {
    if (threadIndex() == 0)
      initBarrier(barrier, 32);
    syncWarp();
    copy();
    read();
  };
  auto copyAndArrive = [&] {
    copyAsync(mine(), source + threadIndex(), 16);
    arriveWhenCopied(barrier);
  };
  auto readOther = [] {
    wait(barrier, 0);
    const int other = threadIndex() ^ 1;
    EXPECT_EQ(loadShared<uint4>(0x400 + other * 16).x, uint32_t(other * 4));
  };
  EXPECT_CLEAN(options, [&] { handOver(copyAndArrive, readOther); });
  EXPECT_CLEAN(options, [&] { // a group that is waited for besides, before or after the arrival
    handOver(
        [&] {
          copyAndArrive();
          commitCopies();
          waitCopies<0>();
          EXPECT_EQ(loadShared<uint4>(mine()).x, uint32_t(threadIndex() * 4));
        },
        readOther);
  });
  EXPECT_FAULT(options, "lacks 32 of 32 arrivals", [&] { // the arrival of the copies does not count for another phase
    handOver(copyAndArrive, [] { wait(barrier, 0), wait(barrier, 1); });
  });
  EXPECT_FAULT(options, "an asynchronous copy in flight writes", [&] {
    handOver(
        [&] {
          arriveWhenCopied(barrier);
          copyAsync(mine(), source + threadIndex(), 16);
        },
        readOther);
  });
  EXPECT_FAULT(options, "an asynchronous copy in flight writes", [&] { // an arrival that waits for no copies
    handOver(
        [&] {
          copyAsync(mine(), source + threadIndex(), 16);
          arrive(barrier);
        },
        readOther);
  });
  EXPECT_FAULT(options, "load of shared memory 0x", [&] {
    handOver(copyAndArrive, [] { loadShared<uint4>(mine()); });
  });
  EXPECT_FAULT(options, "more arrivals than its count of 32", [&] { // the phase still lacks bytes
    handOver(
        [&] {
          copyAndArrive();
          if (threadIndex() == 0)
            arriveExpect(barrier, 16);
        },
        readOther);
  });
}

/// Even the thread that issued them has to wait, and its other stores are not handed over.
TEST_F(Copies, ThatArriveAreKnownByTheWaitAlone) {
  constexpr SharedAddress barrier = 0x400 + 512;
  auto first = [&](auto then) {
    if (threadIndex() == 0)
      initBarrier(barrier, 1);
    syncWarp();
    if (threadIndex() == 0) {
      storeShared(0x400 + 256, 7u);
      copyAsync(0x400, source + 0, 16);
      arriveWhenCopied(barrier);
    }
    then();
  };
  EXPECT_CLEAN(options, [&] {
    first([] {
      wait(barrier, 0);
      loadShared<uint4>(0x400);
    });
  });
  EXPECT_FAULT(options, "shared memory 0x400", [&] {
    first([] {
      for (int i = 0; i < 20; ++i) // until the copy has landed, under some schedules
        globalTime(), syncWarp();
      if (threadIndex() == 0)
        loadShared<uint4>(0x400);
      wait(barrier, 0);
    });
  });
  EXPECT_FAULT(options, "load of shared memory 0x500 is not ordered after its write", [&] {
    first([] {
      wait(barrier, 0);
      loadShared<uint32_t>(0x400 + 256);
    });
  });
}

TEST_F(Copies, ArriveBeforeTheirThreadEnds) {
  EXPECT_FAULT(options, "thread ends before its arrival at mbarrier 0x600, which waits for copies", [&] {
    if (threadIndex() == 0) {
      initBarrier(0x400 + 512, 1);
      arriveWhenCopied(0x400 + 512);
    }
  });
}

TEST_F(Copies, EndBeforeTheirBlock) {
  EXPECT_FAULT(options, "ends while an asynchronous copy in flight writes", [&] {
    copyAsync(mine(), source + threadIndex(), 16);
    commitCopies();
  });
}

TEST_F(Copies, NotCommittedAreNotWaitedFor) {
  EXPECT_FAULT(options, "an asynchronous copy in flight writes", [&] {
    copyAsync(mine(), source + threadIndex(), 16);
    waitCopies<0>();
    loadShared<uint4>(mine());
  });
}

TEST_F(Copies, OverwriteOnlyWhatNobodyNeeds) {
  EXPECT_FAULT(options, "that an asynchronous copy in flight writes", [&] {
    copyAsync(mine(), source + threadIndex(), 16);
    storeShared(mine(), 1.f);
  });
  EXPECT_FAULT(options, "shared memory 0x400", [&] { // read by the neighbour at the same time
    if (threadIndex() == 0)
      storeShared(0x400, 1.f);
    syncWarp();
    if (threadIndex() == 1)
      loadShared<float>(0x400);
    if (threadIndex() == 0)
      copyAsync(0x400, source + 0, 16);
  });
}

TEST_F(Copies, Misaligned) {
  EXPECT_FAULT(options, "not at a multiple of 16 bytes", [&] { copyAsync(mine() + 8, source + 0, 16); });
  EXPECT_FAULT(options, "address that is not a multiple of 16",
               [&] { copyAsync(mine(), reinterpret_cast<const char *>(source + 0) + 8, 16); });
  EXPECT_FAULT(options, "copy of 32 of 16 bytes", [&] { copyAsync(mine(), source + 0, 32); });
}
