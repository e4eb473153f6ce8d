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
