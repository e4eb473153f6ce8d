//===- MeetingTest.cpp - barriers of threads, shuffles, registers -------------------------------------------------===//

#include "Launching.h"

using namespace moe;

static const Options kWarp{.threads = 32}, kBlock{.threads = 256, .sharedBytes = 1024};

TEST(Meeting, Shuffles) {
  EXPECT_CLEAN(kWarp, [] {
    const int lane = threadIndex();
    EXPECT_EQ(shuffleXor(lane, 5), lane ^ 5);
    EXPECT_EQ(shuffleXor(float(lane), 16), float(lane ^ 16));
    EXPECT_EQ(shuffleUp(lane, 3), lane < 3 ? lane : lane - 3);
    EXPECT_EQ(broadcast(lane * 2, 31), 62);
    EXPECT_EQ(ballotWarp(lane % 2 == 1), 0xaaaaaaaau);
    EXPECT_EQ(matchWarp(lane % 4), 0x11111111u << lane % 4);
    EXPECT_EQ(matchWarp(float(lane)), 1u << lane);
    EXPECT_EQ(countBits(matchWarp(int(lane < 5))), lane < 5 ? 5 : 27);
  });
}

TEST(Meeting, LanesThatEndedDoNotVote) {
  EXPECT_CLEAN(kWarp, [] {
    if (threadIndex() < 30)
      return;
    EXPECT_EQ(ballotWarp(true), 0xc0000000u);
    EXPECT_EQ(matchWarp(0), 0xc0000000u);
    syncWarp();
  });
  EXPECT_FAULT(kWarp, "shuffle reads lane 0, which has ended", [] {
    if (threadIndex() == 0)
      return;
    syncWarp();
    broadcast(1, 0);
  });
}

TEST(Meeting, ShuffleDisagreement) {
  EXPECT_FAULT(kWarp, "the threads of a warp disagree about a shuffle", [] { shuffleXor(1, 1 + threadIndex() % 2); });
}

TEST(Meeting, ShufflesOrderNoMemory) {
  EXPECT_FAULT(kBlock, "not ordered after its write", [] {
    if (threadIndex() == 0)
      storeShared(0x400, 1);
    broadcast(1, 0);
    if (threadIndex() == 1)
      loadShared<int>(0x400);
  });
}

TEST(Meeting, HalfAWarpShuffles) {
  EXPECT_FAULT(kWarp, "deadlock", [] {
    if (threadIndex() < 16)
      shuffleXor(1, 1);
    else
      syncWarp();
  });
}

TEST(Meeting, NamedBarriersOrderTheirThreads) {
  EXPECT_CLEAN(kBlock, [] {
    if (threadIndex() >= 128)
      return;
    storeShared(0x400 + threadIndex() * 4, 1);
    syncNamed(3, 128);
    loadShared<int>(0x400 + (threadIndex() + 64) % 128 * 4);
  });
  EXPECT_FAULT(kBlock, "block barrier 3: a multiple of 32 threads", [] { syncNamed(3, 100); });
  EXPECT_FAULT(kBlock, "named barriers are 1 to 15", [] { syncNamed(16, 128); });
  EXPECT_FAULT(kBlock, "threads disagree about the number", [] { syncNamed(3, threadIndex() < 128 ? 128 : 256); });
}

TEST(Meeting, EndedThreadsCountForTheBlock) {
  EXPECT_CLEAN(kBlock, [] {
    if (threadIndex() % 3)
      syncBlock();
  });
}

TEST(Meeting, DeadlockSaysWhoWaitsForWhat) {
  EXPECT_FAULT(kBlock, "block 0, warps 0 to 3: 128 threads at MeetingTest.cpp", [] {
    if (threadIndex() < 128)
      syncNamed(1, 256);
  });
}

TEST(Meeting, RegistersMoveBetweenWarpgroups) {
  EXPECT_CLEAN(kBlock, [] {
    if (threadIndex() < 128)
      decreaseRegisters<40>();
    else
      increaseRegisters<248>();
  });
  EXPECT_FAULT(Options{.threads = 384}, "setmaxnreg.inc 232", [] {
    if (threadIndex() >= 128)
      increaseRegisters<232>();
  });
  EXPECT_FAULT(kBlock, "setmaxnreg: wrong direction", [] { decreaseRegisters<256>(); });
  EXPECT_FAULT(kBlock, "setmaxnreg: 24 to 256 in steps of 8", [] { decreaseRegisters<41>(); });
}

TEST(Launch, Limits) {
  EXPECT_FAULT(Options{.threads = 48}, "multiple of 32 threads", [] {});
  EXPECT_FAULT((Options{.threads = 32, .sharedBytes = 240 * 1024}), "more than 227 KiB", [] {});
  EXPECT_FAULT((Options{.threads = 1024, .registersPerThread = 128}), "more than 65536 registers", [] {});
}

TEST(Launch, EveryThreadOfEveryBlockRuns) {
  std::vector<int> runs(5 * 64);
  Options options{.blocks = 5, .threads = 64};
  options.residentBlocks = 2;
  EXPECT_TRUE(moe::emulation::launch(options, [&] {
                EXPECT_EQ(blockCount(), 5);
                ++runs[blockIndex() * threadCount() + threadIndex()];
              }).ok());
  EXPECT_EQ(runs, std::vector<int>(5 * 64, 1));
}
