//===- RatesTest.cpp - what a rank computes, reads and sends ------------------------------------------------------===//

#include "moe-mlir/Simulation/Rates.h"

#include "gtest/gtest.h"

using namespace moe_mlir::sim;

static Cluster host(int64_t ranks) {
  Cluster cluster = llvm::cantFail(findCluster("cpu", MOE_CLUSTERS));
  cluster.cpu = {2, 100e9, 50e9, 20e9, 30e9, 8e9};
  cluster.local = {10e9, 10e9, 1e-6};
  cluster.network = {1e9, 1e9, 1e-5};
  cluster.launch = 0;
  cluster.ranksPerNode = ranks;
  return cluster;
}

TEST(Rates, RanksShareTheirHost) {
  const Rates one = llvm::cantFail(ratesOf(host(1))), four = llvm::cantFail(ratesOf(host(4)));
  EXPECT_DOUBLE_EQ(one.flops, 200e9);
  EXPECT_DOUBLE_EQ(one.bytesPerSecond, 30e9); // of all cores together
  EXPECT_DOUBLE_EQ(one.memoryBytes, 8e9);
  EXPECT_DOUBLE_EQ(four.flops, 50e9);
  EXPECT_DOUBLE_EQ(four.vectorFlops, 25e9);
  EXPECT_DOUBLE_EQ(four.bytesPerSecond, 7.5e9);
  EXPECT_DOUBLE_EQ(llvm::cantFail(ratesOf(host(2))).bytesPerSecond, 15e9);
  // Products or bytes, whichever takes longer.
  EXPECT_DOUBLE_EQ(one.seconds(2e9, 3e6, 2), 1e-2);
  EXPECT_DOUBLE_EQ(one.seconds(2e9, 3e6, 4), 2e-2);
  EXPECT_DOUBLE_EQ(one.seconds(2e6, 3e9, 2), 1e-1);
}

TEST(Rates, AWeightIsReadWithItsFirstTileOfRows) {
  const Cluster cluster = host(1);
  const Rates cpu = llvm::cantFail(ratesOf(cluster));
  const double products = 4e9, bytes = 3e8;                             // 20 ms and 10 ms
  EXPECT_DOUBLE_EQ(cpu.productSeconds(products, bytes, 0, 2, 6), 2e-2); // one tile hides what is read
  EXPECT_DOUBLE_EQ(cpu.productSeconds(products, bytes, 0, 2, 12), 2e-2);
  EXPECT_DOUBLE_EQ(cpu.productSeconds(products, bytes, 0, 2, 60), 18e-3 + 10e-3);
  EXPECT_DOUBLE_EQ(cpu.productSeconds(products, bytes, 6e8, 2, 1), cpu.seconds(products, 9e8, 2));
  // Rows are read and written all the time.
  EXPECT_DOUBLE_EQ(cpu.productSeconds(products, bytes, 3e8, 2, 60), 18e-3 + 11e-3);
  EXPECT_DOUBLE_EQ(cpu.productSeconds(products, bytes, 9e8, 2, 60), 27e-3 + 13e-3);
  // As threads take them, tile by tile: 4 experts of 60 rows each.
  const CpuProduct product = {4, 640, 1024, 240, 2};
  const Tiles tiles = cpuTilesOf(cluster, product);
  const double all =
      double(tiles.columnTiles) * (double(tiles.rowTiles) * tiles.seconds + 4 * (tiles.first - tiles.seconds)) / 2;
  EXPECT_NEAR(cpu.productSeconds(2. * 240 * 640 * 1024, 4. * 640 * 1024 * 2, 0, 2, 60), all, 0.02 * all);
  // Blocks of a GPU read while others compute.
  const Rates gpu = llvm::cantFail(ratesOf(llvm::cantFail(findCluster("h200", MOE_CLUSTERS))));
  EXPECT_DOUBLE_EQ(gpu.productSeconds(1e15, 1e9, 1e9, 2, 4096), gpu.seconds(1e15, 2e9, 2));
}

TEST(Rates, NeedTheMemoryOfADevice) {
  EXPECT_EQ(llvm::toString(ratesOf(llvm::cantFail(findCluster("v100", MOE_CLUSTERS))).takeError()),
            "cluster 'V100' does not say what memory its device has; add 'memoryBytes' to its 'device'");
  EXPECT_DOUBLE_EQ(llvm::cantFail(ratesOf(llvm::cantFail(findCluster("h200", MOE_CLUSTERS)))).memoryBytes, 141e9);
}

TEST(Rates, NodesSendAtTheRateOfTheSlowerWay) {
  Cluster cluster = host(2);
  EXPECT_DOUBLE_EQ(sendSeconds(cluster, {}, 10e6), 1e-3 + 1e-6);
  cluster.nodes = 2;
  EXPECT_DOUBLE_EQ(sendSeconds(cluster, {}, 10e6), 2e-2 + 1e-5);
  EXPECT_DOUBLE_EQ(sendSeconds(host(1), {}, 10e6), 0);
}

TEST(Rates, RanksOfAnAxisAreApart) {
  const Cluster cluster = llvm::cantFail(findCluster("32xH200", MOE_CLUSTERS));
  using Shape = std::pair<int64_t, int64_t>; // nodes, and ranks of each
  auto shape = [](const Cluster &part) { return Shape(part.nodes, part.ranksPerNode); };
  EXPECT_EQ(shape(cluster.along(1, 8)), Shape(1, 8));
  EXPECT_EQ(shape(cluster.along(1, 32)), Shape(4, 8));
  EXPECT_EQ(shape(cluster.along(2, 16)), Shape(4, 4));
  EXPECT_EQ(shape(cluster.along(8, 4)), Shape(4, 1));
  EXPECT_EQ(shape(cluster.along(4, 2)), Shape(1, 2));
}

TEST(Rates, TheLargestOfEqualShares) {
  EXPECT_DOUBLE_EQ(largestOf(5, 1), 5);
  EXPECT_DOUBLE_EQ(largestOf(0, 4), 0);
  EXPECT_NEAR(largestOf(2, 2), 2.8, 0.01); // the larger half of four coins is 2.75
  EXPECT_DOUBLE_EQ(largestOf(8, 2, 0), 8); // all are chosen
  EXPECT_GT(largestOf(2, 8), largestOf(2, 2));
}
