//===- RanksTest.cpp - launches of several ranks side by side -----------------------------------------------------===//

#include "Launching.h"

using namespace moe;
using moe::emulation::Launch;

namespace {

constexpr int kThreads = 64;

/// Two ranks with a window each: a flag, and 16 words that the other one puts.
struct TwoRanks : testing::Test {
  alignas(1024) uint32_t data[2][16] = {};
  uint32_t flags[2] = {}, words[2][4] = {}, seen[2][16] = {};
  char *bases[2][2];
  Peers peers[2];

  void SetUp() override {
    for (int rank : {0, 1}) {
      const std::string of = " of rank " + std::to_string(rank);
      moe::emulation::registerGlobal(data[rank], sizeof data[rank], "data" + of, true, true);
      moe::emulation::registerGlobal(flags + rank, 4, "flag" + of, true, true);
      moe::emulation::registerGlobal(words[rank], sizeof words[rank], "words" + of, true);
      moe::emulation::registerGlobal(bases[rank], sizeof bases[rank], "bases" + of, false);
      for (int peer : {0, 1})
        bases[rank][peer] = reinterpret_cast<char *>(flags + peer);
      peers[rank] = {bases[rank], rank, 2, words[rank], words[rank] + 1, words[rank] + 2, 1000000};
      moe::emulation::registerGlobal(peers + rank, sizeof(Peers), "peers" + of, false);
    }
  }
  void TearDown() override { moe::emulation::clearGlobals(); }

  static Launch launch(std::string name, std::function<void()> kernel, int blocks = 1) {
    return {{.blocks = blocks, .threads = kThreads, .sharedBytes = 4096}, std::move(kernel), std::move(name)};
  }
  Launch put(int rank) {
    return launch("put", [this, rank] {
      if (threadIndex() < 16)
        storeGlobal(&data[1 - rank][threadIndex()], uint32_t(threadIndex()));
    });
  }
  Launch tell(int rank, uint32_t epoch = 1) {
    return launch("tell", [this, rank, epoch] {
      if (threadIndex() == 0)
        signalRank(&peers[rank], 0, 1 - rank, 0, epoch);
    });
  }
  Launch await(int rank, uint32_t epoch = 1) {
    return launch("await", [this, rank, epoch] {
      if (threadIndex() == 0)
        awaitRank(&peers[rank], 0, 0, epoch, 1 - rank);
    });
  }
  /// Two blocks read what came, if that is known.
  Launch read(int rank) {
    return launch(
        "read",
        [this, rank] {
          if (threadIndex() < 16)
            seen[rank][threadIndex()] = loadGlobal(&data[rank][threadIndex()]);
        },
        2);
  }

  /// The first fault of any schedule.
  std::string faultOf(const std::vector<std::vector<Launch>> &ranks) {
    for (uint64_t seed = 1; seed <= 5; ++seed)
      for (bool skewed : {false, true}) {
        memset(flags, 0, sizeof flags);
        memset(words, 0, sizeof words);
        Options schedule;
        schedule.seed = seed;
        schedule.skewed = skewed;
        const Report report = moe::emulation::launchRanks(schedule, ranks);
        if (!report.ok())
          return report.fault;
      }
    return "";
  }
  void expectFault(const std::string &text, const std::vector<std::vector<Launch>> &ranks) {
    const std::string fault = faultOf(ranks);
    EXPECT_NE(fault.find(text), std::string::npos) << fault;
  }
};

} // namespace

TEST_F(TwoRanks, FlagsOrderLaunchesOfTwoRanks) {
  EXPECT_EQ(faultOf({{put(0), tell(0)}, {await(1), read(1)}}), "");
  // Both ways, and what comes is read launches later.
  EXPECT_EQ(faultOf({{put(0), tell(0), await(0), read(0)}, {put(1), tell(1), await(1), read(1)}}), "");
  for (int rank : {0, 1})
    for (uint32_t i = 0; i < 16; ++i)
      EXPECT_EQ(seen[rank][i], i);
}

TEST_F(TwoRanks, NothingElseDoes) {
  // Whoever comes second finds it.
  expectFault("of data of rank 1 at byte", {{put(0)}, {read(1)}});
  expectFault("of data of rank 1 at byte", {{tell(0), put(0)}, {await(1), read(1)}});
  expectFault("is not ordered after the store of rank 0 put block 0 thread",
              {{put(0), tell(0)}, {launch("pause", [&] {
                                     while (threadIndex() == 0 && flags[1] == 0)
                                       backOff();
                                   }),
                                   read(1)}});
}

/// Who writes again has to know that all was read.
TEST_F(TwoRanks, AWindowIsReadBeforeItIsWrittenAgain) {
  EXPECT_EQ(faultOf({{put(0), tell(0), await(0), put(0)}, {await(1), read(1), tell(1)}}), "");
  expectFault("is not ordered after a load of it", {{put(0), tell(0), put(0)}, {await(1), read(1), tell(1)}});
  expectFault("is not ordered after a load of it", {{put(0), tell(0), await(0), put(0)}, {await(1), tell(1), read(1)}});
}

/// What the other rank put is fenced by the wait; a launch fences only what is its own rank's.
TEST_F(TwoRanks, TmaReadsWhatCame) {
  CUtensorMap map;
  ASSERT_EQ(moe::emulation::encodeTile2d(map, data[1], 4, 4, 4, 16, 4, 4, 0), "");
  const Launch load = launch("load", [&] {
    const SharedAddress barrier = dynamicShared() + 1024;
    if (threadIndex() == 0) {
      initBarrier(barrier, 1);
      fenceBarrierInit();
      arriveExpect(barrier, 64);
      loadTile2d(dynamicShared(), &map, barrier, 0, 0);
      wait(barrier, 0);
    }
  });
  const Launch unfenced = launch("unfenced", [&] {
    while (threadIndex() == 0 && loadAcquire(flags + 1) == 0)
      backOff();
  });
  EXPECT_EQ(faultOf({{put(0), tell(0)}, {await(1), load}}), "");
  expectFault("without fence.proxy.async", {{put(0), tell(0)}, {unfenced, load}});
  // Its own stores need none.
  const Launch fill = launch("fill", [&] {
    if (threadIndex() < 16)
      storeGlobal(&data[1][threadIndex()], 1u);
  });
  EXPECT_EQ(faultOf({{}, {fill, load}}), "");
}

/// The first wait in vain is the last one, and nothing is told after it.
TEST_F(TwoRanks, ASilentRank) {
  EXPECT_EQ(faultOf({{put(0)}, {await(1), await(1, 2), tell(1), launch("end", [] {})}}), "");
  EXPECT_EQ(words[1][2], 1u); // rank 0 + 1
  EXPECT_EQ(words[1][3], 1u); // flag 0 + 1
  EXPECT_EQ(words[0][2], 0u);
  EXPECT_EQ(words[0][3], 0u);
  EXPECT_EQ(flags[0], 0u);
}

TEST_F(TwoRanks, RowsOfEveryWidth) {
  auto copy = [&](auto element, auto count) {
    using T = decltype(element);
    constexpr int kCount = decltype(count)::value;
    const std::vector<T> from(2 * kCount, T(7));
    std::vector<T> to(3 * kCount);
    moe::emulation::registerGlobal(from.data(), 2 * kCount * sizeof(T), "from", false);
    moe::emulation::registerGlobal(to.data(), 3 * kCount * sizeof(T), "to", true);
    const int64_t offset = reinterpret_cast<char *>(to.data()) - reinterpret_cast<char *>(flags + 1);
    EXPECT_EQ(faultOf({{launch("copy", [&] {
                if (threadIndex() < 32)
                  putRow<kCount>(from.data(), 1, &peers[0], offset, 1, 2);
              })}}),
              "");
    for (int i = 0; i < 3 * kCount; ++i)
      EXPECT_EQ(to[i], T(i < 2 * kCount ? 0 : 7)) << i;
  };
  copy(float(), std::integral_constant<int, 64>());
  copy(float(), std::integral_constant<int, 700>());
  copy(float(), std::integral_constant<int, 5>());
  copy(uint16_t(), std::integral_constant<int, 4>());
  copy(uint16_t(), std::integral_constant<int, 101>());
  copy(uint8_t(), std::integral_constant<int, 3>());
}
