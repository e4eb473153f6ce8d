//===- SolveTest.cpp - the schedule that takes the least simulated time -------------------------------------------===//

#include "Setups.h"
#include "moe-mlir/Simulation/Solve.h"

#include "gtest/gtest.h"

namespace sim = moe_mlir::sim;
using namespace moe_mlir::sim;

/// Never worse than plain, and within 2 % of the best of 200 drawn ones.
TEST(Solve, BeatsPlainAndDrawnSchedules) {
  std::mt19937 random(11);
  std::vector<sim::Setup> setups;
  for (int64_t tokens : {1, 8, 64, 512, 2048, 8192}) {
    setups.push_back(setupOf("8xH200", "qwen3-30b", tokens));
    setups.push_back(setupOf("8xH800", "mixtral-8x7b", tokens));
    setups.push_back(setupOf("4xL20", "qwen2-moe", tokens));
  }
  setups.push_back(setupOf("32xH800", "deepseek-v3", 4096));
  setups.push_back(setups.back());
  setups.back().nested = true;
  setups.push_back(setupOf("8xH200", "qwen3-30b", 4096));
  setups.back().layer.share = llvm::cantFail(drawnShares(8, 0.032));
  setups.push_back(setupOf("8xH100", "phi-3.5-moe", 2048));
  setups.back().bulk = false;
  setups.push_back(setupOf("8xH200", "qwen3-30b", 8192));
  setups.back().blocks = 12; // of a program whose columns stand so
  for (int64_t tokens : {8, 512}) { // of CPUs, whose threads do all of the work in turns
    setups.push_back(setupOf("2xcpu", "olmoe", tokens));
    setups.push_back(setupOf("8xcpu", "olmoe", tokens));
    setups.push_back(setupOf("8xcpu", "qwen3-30b", tokens));
    setups.back().cluster.network.bytesPerSecond = 50e6;
    setups.back().nested = true;
  }
  for (const sim::Setup &setup : setups) {
    SCOPED_TRACE(setup.layer.name + " on " + std::to_string(setup.cluster.ranks()) + " x " + setup.cluster.name + ", " +
                 std::to_string(setup.layer.tokens));
    Solution solution = solve(setup);
    EXPECT_EQ(llvm::toString(checkSchedule(setup, solution.schedule)), "");
    EXPECT_EQ(setup.blocks % solution.overlap.slices, 0);
    EXPECT_DOUBLE_EQ(simulate(setup, solution.schedule).seconds, solution.seconds);
    EXPECT_LE(solution.seconds, simulate(setup, Schedule()).seconds);
    double best = solution.plain;
    for (int i = 0; i < 200; ++i) {
      Schedule drawn = drawSchedule(setup, random);
      ASSERT_EQ(llvm::toString(checkSchedule(setup, drawn)), "") << toString(drawn);
      best = std::min(best, simulate(setup, drawn).seconds);
    }
    // What it finds; what it takes may be plain where that is found to gain too little.
    EXPECT_LE(std::min(solution.plain, solution.overlapped), best * 1.02);
    if (solution.schedule.kind == Schedule::Plain)
      EXPECT_LE(solution.plain * (1 - kLeastGain), solution.overlapped);
  }
}

/// The goals of the project for 8 GPUs, all simulated.
TEST(Solve, HidesWhatCanBeHidden) {
  sim::Setup setup = setupOf("8xH800", "mixtral-8x7b,gated=no", 2048); // COMET's Fig. 11
  setup.layer.sumBytes = 2;
  Solution solution = solve(setup);
  Summary summary = summarize(setup, simulate(setup, solution.schedule));
  EXPECT_GE(summary.hidden, 0.95 * summary.hideable);
  EXPECT_GE(summary.hidden, 0.865 * (summary.out + summary.back)); // what COMET states
  EXPECT_EQ(summarize(setup, simulate(setup, Schedule())).hidden, 0);
}

TEST(Solve, ChoosesPlainWhereNothingIsGained) {
  sim::Setup setup = setupOf("1xH200", "olmoe", 4096);
  EXPECT_EQ(solve(setup).schedule.kind, Schedule::Plain);
  setup = setupOf("8xH200", "experts=8,top-k=1,hidden=256,ffn=65536", 8192);
  Solution solution = solve(setup);
  EXPECT_EQ(solution.schedule.kind, Schedule::Plain);
  EXPECT_GT(solution.overlapped, solution.plain * (1 - kLeastGain));
}

TEST(Solve, LeavesPlainForThreePercent) {
  EXPECT_DOUBLE_EQ(kLeastGain, 0.03);
  sim::Setup setup = setupOf("8xH200", "qwen3-30b", 8192);
  Solution solution = solve(setup);
  EXPECT_LE(solution.overlapped, solution.plain * 0.97);
  EXPECT_EQ(solution.schedule, solution.overlap);
}

/// One exchange is better on few nodes with many tokens, two on many nodes with few.
TEST(Solve, ExchangesCrossOver) {
  sim::Setup few = setupOf("16xH800", "experts=16,top-k=1,hidden=4096,ffn=1024", 65536);
  EXPECT_FALSE(solveExchange(few).first.nested);
  sim::Setup many = setupOf("512xH800", "experts=512,top-k=8,hidden=2048,ffn=512", 128);
  EXPECT_TRUE(solveExchange(many).first.nested);
}
