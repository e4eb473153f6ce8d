//===- PublishedTest.cpp - the model beside published figures -----------------------------------------------------===//

#include "moe-mlir/Simulation/Predictions.h"
#include "moe-mlir/Simulation/Published.h"

#include "gtest/gtest.h"

#include <random>

using namespace moe_mlir::sim;

static Machines machines() { return llvm::cantFail(readMachines(MOE_CLUSTERS)); }

static Cluster nodesOf(Cluster cluster, int64_t nodes) {
  cluster.nodes = nodes;
  return cluster;
}

TEST(Published, ConstantsAreThoseOfTheFit) {
  const Constants found = fit(machines()), kept;
  EXPECT_NEAR(found.link, kept.link, 1e-3);
  EXPECT_NEAR(found.published, kept.published, 1e-3);
  // Two of at most three: whoever adds a constant says so here.
  EXPECT_EQ(sizeof(Constants), 2 * sizeof(double));
}

TEST(Published, MedianDeviation) {
  const auto rows = predictedRows(machines(), {});
  EXPECT_EQ(rows.size(), 22u);
  EXPECT_LE(medianDeviation(rows), 0.25);
}

/// More blocks for more tokens, and for fewer ranks per expert.
TEST(Published, OrderOfCometsBlocks) {
  std::vector<double> blocks;
  for (const Prediction &row : predictedRows(machines(), {}))
    if (row.source == "COMET, Fig. 8")
      blocks.push_back(row.simulated);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_LT(blocks[0], blocks[1]);
  EXPECT_LT(blocks[1], blocks[2]);
}

TEST(Published, MessagesBoundTheGainOfTwoSteps) {
  std::mt19937 random(4);
  const Cluster a100 = machines().a100;
  const Cluster large = nodesOf(a100, 256);
  const double bound = double(linearMessages(large)) / double(nestedMessages(large));
  EXPECT_EQ(linearMessages(large), 2047);
  EXPECT_EQ(nestedMessages(large), 7 + 255);
  EXPECT_NEAR(bound, 7.8, 0.02);
  for (double bytes = 1; bytes < 1e12; bytes *= 3)
    for (int64_t nodes : {2, 8, 64, 256}) {
      Cluster cluster = nodesOf(a100, nodes);
      cluster.message = 1e-7 * double(1 + random() % 1000);
      EXPECT_LE(linearAllToAll(cluster, {}, bytes) / nestedAllToAll(cluster, {}, bytes), bound);
    }
}

/// Two steps win with many ranks or few bytes, one with few ranks or many.
TEST(Published, AllToAllsCrossOver) {
  const Cluster a100 = machines().a100;
  auto nestedWins = [&](int64_t nodes, double bytes) {
    const Cluster cluster = nodesOf(a100, nodes);
    return nestedAllToAll(cluster, {}, bytes) < linearAllToAll(cluster, {}, bytes);
  };
  EXPECT_TRUE(nestedWins(256, 1 << 20));
  EXPECT_TRUE(nestedWins(8, 1 << 16));
  EXPECT_FALSE(nestedWins(2, double(1 << 28)));
  EXPECT_FALSE(nestedWins(256, 1e11));
}

/// With one node, and with one rank per node, there is only one way.
TEST(Published, TwoStepsNeedTwoLevels) {
  Cluster cluster = machines().a100;
  EXPECT_EQ(nestedAllToAll(cluster, {}, 1e6), linearAllToAll(cluster, {}, 1e6));
  cluster.nodes = 8;
  cluster.ranksPerNode = 1;
  EXPECT_EQ(nestedAllToAll(cluster, {}, 1e6), linearAllToAll(cluster, {}, 1e6));
}

/// A pipeline is as long as its slower side, and as both with one part.
TEST(Published, PartsOverlap) {
  const Cluster h800 = machines().h800;
  const TutelLayer layer{8192, 4096, 4096, 2, 1};
  const TutelTimes whole = tutelSeconds(h800, {}, layer, 1, false);
  for (int64_t degree : {2, 4, 8}) {
    const TutelTimes parts = tutelSeconds(h800, {}, layer, degree, false);
    EXPECT_GE(parts.seconds, std::max(parts.links, parts.products));
    EXPECT_LT(parts.seconds, parts.links + parts.products + whole.seconds - whole.links - whole.products);
  }
}
