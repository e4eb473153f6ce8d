//===- VariantsTest.cpp - methods of parallelism, and the search among them ---------------------------------------===//

#include "Setups.h"
#include "moe-mlir/Simulation/Variants.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace moe_mlir::sim;

/// Data parallelism and the mixture of all three are enough: no other method ever moves less than both.
TEST(Variants, NoPrunedMethodIsBetter) {
  std::mt19937 random(5);
  auto draw = [&](int64_t most) { return int64_t(1) << (random() % uint64_t(most)); };
  for (int i = 0; i < 2000; ++i) {
    const int64_t gpus = draw(12), experts = draw(12);
    const double capacity = double(1 + random() % 100000), parameters = double(1 + random() % 100000000);
    double kept = *volumeOf(Method::Data, gpus, experts, capacity, parameters, 1);
    for (int64_t r : slicesOf(gpus, experts))
      if (r > 0)
        kept = std::min(kept, *volumeOf(Method::ExpertDataModel, gpus, experts, capacity, parameters, r));
    for (Method method : {Method::Model, Method::Expert, Method::DataModel, Method::ExpertData, Method::ExpertModel})
      for (int64_t r = 1; r <= gpus; r *= 2)
        if (auto other = volumeOf(method, gpus, experts, capacity, parameters, r))
          EXPECT_GE(*other, kept * (1 - 1e-12)) << gpus << " " << experts << " " << int(method) << " " << r;
  }
}

TEST(Variants, SlicesDivideTheShards) {
  EXPECT_EQ(slicesOf(8, 8), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(slicesOf(8, 64), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(slicesOf(24, 2), (std::vector<int64_t>{0, 1, 2, 3, 4, 6, 12}));
}

/// Trials as in Tutel, and no other r, degree or all-to-all is better.
TEST(Variants, TheSearchFindsTheBestWithinItsBudget) {
  const struct {
    int64_t shards;
    double trials;
  } budgets[] = {{2, 30}, {4, 43}, {8, 57}, {16, 71}, {32, 84}};
  const Constants constants;
  std::mt19937 random(2);
  for (const auto &[shards, published] : budgets) {
    EXPECT_NEAR(mostTrials(shards), published, 1);
    Cluster cluster = llvm::cantFail(findCluster("64xA100", MOE_CLUSTERS));
    for (int i = 0; i < 10; ++i) {
      const TutelLayer layer{int64_t(128) << (random() % 8), int64_t(512) << (random() % 4),
                             int64_t(512) << (random() % 7), 2, 1};
      const int64_t experts = 64 / shards;
      VariantChoice choice = chooseVariant(cluster, constants, layer, experts);
      EXPECT_LE(double(choice.trials), mostTrials(shards));
      for (int64_t r : slicesOf(64, experts))
        for (int64_t degree : {1, 2, 4, 8})
          for (bool nested : {false, true})
            EXPECT_LE(choice.seconds, variantSeconds(cluster, constants, layer, experts, {r, degree, nested}));
    }
  }
}

/// Many tokens and small experts: weights travel. Few tokens and large ones: tokens do.
TEST(Variants, WhatIsSmallerTravels) {
  Cluster cluster = llvm::cantFail(findCluster("8xA100", MOE_CLUSTERS));
  EXPECT_EQ(chooseVariant(cluster, {}, {65536, 2048, 256, 2, 1}, 2).variant.slices, 0);
  EXPECT_GT(chooseVariant(cluster, {}, {256, 2048, 32768, 2, 1}, 2).variant.slices, 0);
}
