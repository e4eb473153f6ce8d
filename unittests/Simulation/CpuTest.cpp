//===- CpuTest.cpp - ranks of CPUs --------------------------------------------------------------------------------===//

#include "Rank.h"
#include "Setups.h"
#include "moe-mlir/Simulation/Solve.h"

#include "gtest/gtest.h"

namespace sim = moe_mlir::sim;
using namespace moe_mlir::sim;

/// Hosts of one core each, with OLMoE's layer in bf16: numbers that can be followed by hand.
static sim::Setup hosts(double bytesPerSecond, int64_t tokens = 512) {
  sim::Setup setup = setupOf("cpu", "olmoe", tokens);
  Cluster &cluster = setup.cluster;
  cluster.cpu = {1, 200e9, 100e9, 16e9, 16e9, 8e9};
  cluster.local = {10e9, 10e9, 1e-6};
  cluster.network = {bytesPerSecond, bytesPerSecond, 50e-6};
  cluster.launch = 2e-6;
  cluster.ranksPerNode = 1;
  cluster.nodes = 2;
  return setup;
}

static const char *const kOverlap = "overlap, chunk = 64, order = source, steps = [1, 1], slices = 8";

TEST(Cpu, RanksShareTheCoresOfAHost) {
  auto workers = [](llvm::StringRef cluster) -> int64_t {
    return llvm::cantFail(findCluster(cluster, MOE_CLUSTERS)).workers();
  };
  EXPECT_EQ(workers("1xcpu"), 2);
  EXPECT_EQ(workers("2xcpu"), 1);
  EXPECT_EQ(workers("4xcpu"), 1); // two hosts
  EXPECT_EQ(workers("8xh200"), 132);
  // Those of an axis share them with the others.
  Cluster host = llvm::cantFail(findCluster("cpu", MOE_CLUSTERS));
  host.cpu.cores = 8;
  host.ranksPerNode = 4;
  EXPECT_EQ(host.along(2, 2).workers(), 2);
  EXPECT_EQ(host.along(2, 2).along(1, 1).workers(), 2);
}

TEST(Cpu, TilesTakeWhatTheirRowsTake) {
  const sim::Setup setup = hosts(1e9);
  const int64_t experts = 32, rows = 4096, columns = 2048, depth = 2048;
  Tiles tiles = cpuTilesOf(setup.cluster, {experts, columns, depth, rows, 2});
  EXPECT_EQ(tiles.rows, 6);
  EXPECT_EQ(tiles.columnTiles, 32);
  EXPECT_NEAR(tiles.seconds * double(tiles.count()), 2. * rows * columns * depth / 200e9, 1e-9);
  EXPECT_DOUBLE_EQ(tiles.first, 64. * depth * 2 / 16e9); // its weights, which a tile does not take as long as
  EXPECT_NEAR(cpuTilesOf(setup.cluster, {experts, columns, depth, rows, 4}).seconds, 2 * tiles.seconds, 1e-12);
  EXPECT_EQ(cpuTilesOf(setup.cluster, {experts, columns, depth, 3, 2}).rowTiles, 3);
  Cluster wide = setup.cluster;
  wide.cpu.tileRows = 32;
  EXPECT_LT(cpuTilesOf(wide, {experts, columns, depth, rows, 2}).rowTiles, tiles.rowTiles);
}

/// All legs show in plain: rows of 4 KiB, sums in f32, and ids and weights of 8 experts.
TEST(Cpu, PlainHidesNothing) {
  const double rows = hosts(1e6).layer.chance(0.5) * 512, slow = rows * (4096 + 8192 + 48) / 20e6;
  const double fast = rows * (4096 + 8192 + 48) / 1e12;
  const double difference = simulate(hosts(20e6), Schedule()).seconds - simulate(hosts(1e12), Schedule()).seconds;
  EXPECT_NEAR(difference, slow - fast, 0.01 * slow); // but for what threads copy meanwhile
  EXPECT_LT(summarize(hosts(20e6), simulate(hosts(20e6), Schedule())).hidden, 0.01 * slow);
}

/// On one host threads copy rows themselves, so that nothing is gained, whatever the sizes.
TEST(Cpu, OneHostStaysPlain) {
  for (const char *layer : {"olmoe", "experts=8,top-k=2,hidden=64,ffn=48", "experts=4,top-k=1,hidden=16,ffn=16"})
    for (int64_t tokens : {1, 4, 64, 4096}) {
      const Solution solution = solve(setupOf("2xcpu", layer, tokens));
      EXPECT_EQ(solution.schedule.kind, Schedule::Plain) << layer << ", " << tokens;
      EXPECT_LE(solution.plain, solution.overlapped * (1 + 1e-9)) << layer << ", " << tokens;
    }
}

TEST(Cpu, SlowLinksAreHidden) {
  const sim::Setup setup = hosts(50e6);
  const double plain = simulate(setup, Schedule()).seconds;
  const sim::Run run = simulate(setup, scheduleOf(kOverlap));
  const Summary summary = summarize(setup, run);
  EXPECT_LT(run.seconds, 0.9 * plain);
  EXPECT_GT(summary.hidden, 0.6 * (summary.out + summary.back));
  EXPECT_LT(summary.bound, run.seconds);
  const Solution solution = solve(setup);
  EXPECT_EQ(solution.schedule.kind, Schedule::Overlap);
  EXPECT_EQ(solution.schedule.send + solution.schedule.back, 0); // threads do that in turns
  EXPECT_LE(solution.seconds, run.seconds);
  // A link as fast as memory, and one token: what is on its way is not worth a second look at the weights.
  EXPECT_EQ(solve(hosts(1e12)).schedule.kind, Schedule::Plain);
  EXPECT_EQ(solve(hosts(1e9, 1)).schedule.kind, Schedule::Plain);
}

TEST(Cpu, StepsReadWeightsAgain) {
  const sim::Setup setup = hosts(1e12, 64);
  auto up = [&](llvm::StringRef steps) {
    const std::string text = ("overlap, chunk = 64, order = source, steps = " + steps + ", slices = 1").str();
    const sim::Run run = simulate(setup, scheduleOf(text));
    return run.upEnd - run.announced;
  };
  EXPECT_GT(up("[1, 1]"), 1.2 * up("[2]"));
}

/// Rows that are gathered are copied once more, step by step, and hidden as well.
TEST(Cpu, GatheredRowsAreCopiedAgain) {
  sim::Setup setup = hosts(50e6);
  const double plain = simulate(setup, Schedule()).seconds, overlap = simulate(setup, scheduleOf(kOverlap)).seconds;
  setup.layer.gathered = true;
  const double copied = 2 * setup.layer.pairs(2, 0.5) * 4096 / 16e9;
  EXPECT_NEAR(simulate(setup, Schedule()).seconds - plain, copied, 1e-4 * plain);
  EXPECT_NEAR(simulate(setup, scheduleOf(kOverlap)).seconds - overlap, copied, 1e-3 * plain);
}
