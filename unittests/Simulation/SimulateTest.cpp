//===- SimulateTest.cpp - runs of our schedules -------------------------------------------------------------------===//

#include "Rank.h"
#include "Setups.h"

#include "gtest/gtest.h"

#include <random>

namespace sim = moe_mlir::sim;
using namespace moe_mlir::sim;

static const char *const kOverlap = "overlap, chunk = 128, order = source, steps = [1, 3, 4], piece = 256, send = 12, "
                                    "slices = 8, return = 20";

TEST(Simulate, PlainIsTheSumOfItsParts) {
  sim::Setup setup = setupOf("8xH200", "qwen3-30b", 8192);
  sim::Run run = simulate(setup, Schedule());
  // Three launches after the first, two of them between legs and products.
  const double launches = 3 * setup.cluster.launch;
  EXPECT_NEAR(run.seconds, run.announced + run.out.seconds + run.upBusy + run.downBusy + run.back.seconds + launches,
              1e-9);
  // One row per token and rank, and back a sum in f32: (W - 1) * T * chance * H bytes.
  const double rows = 7 * 8192 * setup.layer.chance(1. / 8);
  EXPECT_NEAR(run.out.localBytes, rows * 2048 * 2, 1);
  EXPECT_NEAR(run.back.localBytes, rows * 2048 * 4, 1);
  EXPECT_EQ(run.out.networkBytes, 0);
  EXPECT_NEAR(run.out.seconds, run.out.localBytes / 380e9 + 1.5e-6, 1e-9);
}

TEST(Simulate, NothingEndsBeforeItsPartsCan) {
  std::mt19937 random(3);
  for (const char *layer : {"qwen3-30b", "mixtral-8x7b", "olmoe"})
    for (int64_t tokens : {1, 64, 2048}) {
      sim::Setup setup = setupOf("8xH200", layer, tokens);
      sim::Run run = simulate(setup, scheduleOf(kOverlap), /*keepSpans=*/true);
      EXPECT_GE(run.upEnd, run.announced + std::max(run.out.seconds, run.upBusy) * (1 - 1e-9)) << layer << tokens;
      EXPECT_GE(run.downEnd, run.upEnd + run.downBusy);
      EXPECT_GE(run.seconds, run.downEnd);
      EXPECT_GE(run.firstReturn, run.upEnd);
      for (const Span &span : run.spans)
        EXPECT_LE(span.start + span.seconds, run.seconds + run.collect + 1e-12) << span.name;
    }
}

TEST(Simulate, MoreSlicesReturnSooner) {
  sim::Setup setup = setupOf("8xH200", "qwen3-30b", 8192);
  double before = 1;
  for (int64_t slices : {1, 2, 4, 8}) {
    Schedule schedule = scheduleOf(kOverlap);
    schedule.slices = slices;
    double first = simulate(setup, schedule).firstReturn;
    EXPECT_LT(first, before);
    before = first;
  }
}

/// With one part nothing starts before all rows are there; with more, up begins with the first.
TEST(Simulate, PartsComeOneAfterTheOther) {
  sim::Setup setup = setupOf("8xH200", "qwen3-30b", 8192);
  sim::Run whole = simulate(setup, scheduleOf("parts = 1"));
  EXPECT_GE(whole.upEnd, whole.announced + whole.out.seconds + whole.upBusy);
  sim::Run four = simulate(setup, scheduleOf("parts = 4"));
  EXPECT_LT(four.upEnd, whole.upEnd);
  EXPECT_EQ(four.firstReturn, four.downEnd + setup.cluster.launch);
  // The same, written out: 5467 rows of each source in chunks of a quarter.
  EXPECT_DOUBLE_EQ(four.upEnd, simulate(setup, scheduleOf("overlap, chunk = 1367, order = part, steps = [1, 1, 1, 1], "
                                                          "piece = 1048576, send = 13, slices = 1, return = 1"))
                                   .upEnd);
  EXPECT_EQ(llvm::toString(checkSchedule(setup, scheduleOf("overlap, chunk = 100, order = part, steps = [4], piece = 1, "
                                                           "send = 1, slices = 1, return = 1"))),
            "schedule: 'steps' has 4 parts, 5467 rows of a source in chunks of 100 have 55");
}

/// What is ready at once is what needs own rows only.
TEST(Simulate, TilesWaitForTheirRowsOnly) {
  Tiles tiles;
  tiles.rows = 128;
  tiles.rowTiles = 8;
  tiles.columnTiles = 1;
  // 1024 rows of one expert from four sources; the second half of a source's rows is late.
  std::vector<Arrival> arrivals{{0, 0}, {10, 20}, {20, 30}, {30, 40}};
  Schedule schedule = scheduleOf("overlap, chunk = 128, order = source, steps = [1, 1, 2], piece = 128, send = 1, "
                                 "slices = 1, return = 1");
  UpList list = makeUpList(schedule, tiles, arrivals, 1, 256, 1024);
  EXPECT_EQ(list.ready, (std::vector<double>{0, 0, 15, 20, 25, 30, 35, 40}));
  EXPECT_EQ(list.ends, (std::vector<int64_t>{2, 4, 8}));
  EXPECT_EQ(list.records, 8);
  // A record of two tiles waits for both; one block then runs them in order.
  schedule.piece = 256;
  list = makeUpList(schedule, tiles, arrivals, 1, 256, 1024);
  EXPECT_EQ(list.ready, (std::vector<double>{0, 0, 20, 20, 30, 30, 40, 40}));
  EXPECT_DOUBLE_EQ(runUpList(list, 1, 1, 1, 0), 42);
  EXPECT_DOUBLE_EQ(runUpList(list, 1, 8, 1, 0), 41);
  EXPECT_DOUBLE_EQ(runUpList(list, 1, 2, 100, 0), 400);
}

TEST(Simulate, SkewSlowsTheBusiestRank) {
  sim::Setup setup = setupOf("8xH200", "mixtral-8x7b", 8192);
  sim::Run even = simulate(setup, scheduleOf(kOverlap));
  setup.layer.share.assign(8, 1. / 8);
  EXPECT_DOUBLE_EQ(simulate(setup, scheduleOf(kOverlap)).seconds, even.seconds);
  setup.layer.share = llvm::cantFail(drawnShares(8, 0.032));
  sim::Run skewed = simulate(setup, scheduleOf(kOverlap));
  EXPECT_GT(skewed.seconds, even.seconds);
  EXPECT_EQ(skewed.rank, std::max_element(setup.layer.share.begin(), setup.layer.share.end()) -
                             setup.layer.share.begin());
}

TEST(Simulate, OneRankSendsNothing) {
  sim::Setup setup = setupOf("1xH200", "olmoe", 512);
  sim::Run run = simulate(setup, Schedule());
  EXPECT_EQ(run.out.localBytes + run.out.networkBytes + run.back.localBytes + run.back.networkBytes, 0);
}

/// Between nodes a token travels once per node, not once per rank.
TEST(Simulate, NestedSendsFewerBytesBetweenNodes) {
  sim::Setup setup = setupOf("32xH800", "deepseek-v3", 1024);
  sim::Run flat = simulate(setup, Schedule());
  setup.nested = true;
  sim::Run nested = simulate(setup, Schedule());
  EXPECT_LT(nested.out.networkBytes, flat.out.networkBytes);
  EXPECT_GT(nested.out.localBytes, flat.out.localBytes);
  const double toNodes = 3 * 1024 * setup.layer.chance(1. / 4);
  EXPECT_NEAR(nested.out.networkBytes, toNodes * 7168 * 2, 1);
}

/// 2048 ranks, none like another. How long they may take is said in test/Tools/moe-sim/run.test.
TEST(Simulate, ManyRanks) {
  sim::Setup setup = setupOf("2048xA100", "experts=2048,top-k=8,hidden=2048,ffn=1024", 4096);
  Schedule schedule = scheduleOf("overlap, chunk = 128, order = source, steps = [8, 2040], piece = 256, send = 12, "
                                 "slices = 4, return = 12");
  sim::Run even = simulate(setup, schedule);
  setup.layer.share = llvm::cantFail(drawnShares(2048, 0.0001));
  sim::Run skewed = simulate(setup, schedule);
  EXPECT_GT(skewed.seconds, even.seconds);
}
