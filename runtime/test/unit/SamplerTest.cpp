//===- SamplerTest.cpp - the choice of tokens ---------------------------------------------------------------------===//

#include "Sampler.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace moert;

namespace {

int64_t choose(const Sampling &sampling, const std::vector<float> &logits, uint64_t step = 0) {
  int64_t token = -1;
  Status s = Sampler(sampling).choose(logits.data(), static_cast<int64_t>(logits.size()), step, token);
  EXPECT_EQ(s.message, "");
  return token;
}

/// How often each token was chosen in 20000 steps.
std::vector<double> shares(const Sampling &sampling, const std::vector<float> &logits) {
  std::vector<double> counts(logits.size());
  for (uint64_t step = 0; step < 20000; ++step)
    counts[choose(sampling, logits, step)] += 1.0 / 20000;
  return counts;
}

/// The known answers of Random123's kat_vectors for philox4x32-10.
TEST(Philox, KnownAnswers) {
  Philox zero(0, 0, 0);
  EXPECT_EQ(zero.out[0], 0x6627e8d5u);
  EXPECT_EQ(zero.out[1], 0xe169c58du);
  EXPECT_EQ(zero.out[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.out[3], 0x9b00dbd8u);
  uint64_t ones = ~uint64_t(0);
  Philox all(ones, ones, ones);
  EXPECT_EQ(all.out[0], 0x408f276du);
  EXPECT_EQ(all.out[1], 0x41c83b0eu);
  EXPECT_EQ(all.out[2], 0xa20bc7c6u);
  EXPECT_EQ(all.out[3], 0x6d5451fdu);
}

TEST(Sampler, GreedyTakesTheLowestOfEquals) {
  EXPECT_EQ(choose({}, {1, 3, 3, 2}), 1);
  EXPECT_EQ(choose({}, {-INFINITY, -INFINITY}), 0);
  EXPECT_EQ(choose({}, {0, INFINITY, INFINITY}), 1);
  EXPECT_EQ(choose({}, {-0.0f, 0.0f}), 0);
}

TEST(Sampler, NanIsAnError) {
  float logits[3] = {1, std::numeric_limits<float>::quiet_NaN(), 2};
  for (double temperature : {0.0, 1.0}) {
    int64_t token;
    Status s = Sampler({temperature, 1, 0}).choose(logits, 3, 0, token);
    EXPECT_EQ(s.message, "the model's logit for token 1 is not a number");
  }
}

TEST(Sampler, FollowsTheProbabilities) {
  std::vector<float> logits = {0, std::log(2.0f), -INFINITY, std::log(5.0f)};
  auto counts = shares({1, 1, 7}, logits);
  EXPECT_NEAR(counts[0], 1.0 / 8, 0.01);
  EXPECT_NEAR(counts[1], 2.0 / 8, 0.01);
  EXPECT_EQ(counts[2], 0);
  EXPECT_NEAR(counts[3], 5.0 / 8, 0.01);
  counts = shares({0.5, 1, 7}, logits); // squares: 1, 4, 25
  EXPECT_NEAR(counts[3], 25.0 / 30, 0.01);
}

TEST(Sampler, TopPKeepsTheSmallestSet) {
  std::vector<float> logits = {0, std::log(2.0f), std::log(5.0f)};
  auto counts = shares({1, 0.7, 7}, logits); // 5/8 is not enough, 7/8 is
  EXPECT_EQ(counts[0], 0);
  EXPECT_NEAR(counts[1], 2.0 / 7, 0.01);
  EXPECT_NEAR(counts[2], 5.0 / 7, 0.01);
  counts = shares({1, 0.6, 7}, logits);
  EXPECT_EQ(counts[0] + counts[1], 0);
  counts = shares({1, 0, 7}, logits); // never empty
  EXPECT_EQ(counts[0] + counts[1], 0);
}

TEST(Sampler, TopKKeepsTheMostProbable) {
  std::vector<float> logits = {0, std::log(2.0f), std::log(5.0f), std::log(2.0f)};
  auto counts = shares({1, 1, 7, 2}, logits); // of equals the one with the lower id
  EXPECT_EQ(counts[0] + counts[3], 0);
  EXPECT_NEAR(counts[1], 2.0 / 7, 0.01);
  EXPECT_NEAR(counts[2], 5.0 / 7, 0.01);
  counts = shares({1, 1, 7, 1}, logits);
  EXPECT_EQ(counts[0] + counts[1] + counts[3], 0);
  counts = shares({1, 1, 7, 100}, logits); // more than there are
  EXPECT_NEAR(counts[0], 1.0 / 10, 0.01);
}

TEST(Sampler, TopPIsOfWhatTopKLeaves) {
  std::vector<float> logits = {std::log(4.0f), std::log(3.0f), std::log(2.0f), 0}; // tenths
  EXPECT_GT(shares({1, 0.6, 7}, logits)[1], 0);
  auto counts = shares({1, 0.57, 7, 2}, logits); // 4/10 is not enough, 4/7 is
  EXPECT_EQ(counts[1] + counts[2] + counts[3], 0);
  counts = shares({1, 0.58, 7, 2}, logits);
  EXPECT_NEAR(counts[1], 3.0 / 7, 0.01);
}

TEST(Sampler, MinPIsAPartOfTheMostProbable) {
  std::vector<float> logits = {std::log(4.0f), std::log(3.0f), std::log(2.0f), 0};
  auto counts = shares({1, 1, 7, 0, 0.49}, logits);
  EXPECT_EQ(counts[3], 0);
  EXPECT_NEAR(counts[2], 2.0 / 9, 0.01);
  counts = shares({1, 1, 7, 0, 0.51}, logits);
  EXPECT_EQ(counts[2] + counts[3], 0);
  EXPECT_NEAR(counts[0], 4.0 / 7, 0.01);
  counts = shares({1, 1, 7, 0, 1}, logits);
  EXPECT_EQ(counts[1] + counts[2] + counts[3], 0);
  counts = shares({1, 0.95, 7, 3, 0.6}, logits); // of what top-k and top-p left
  EXPECT_NEAR(counts[1], 3.0 / 7, 0.01);
}

TEST(Sampler, PenaltyIsForTokensOfTheText) {
  Sampler sampler({0, 1, 0, 0, 0, 2});
  auto next = [&](std::vector<float> logits) {
    int64_t token = -1;
    EXPECT_FALSE(sampler.choose(logits.data(), static_cast<int64_t>(logits.size()), 0, token).failed());
    return token;
  };
  EXPECT_EQ(next({5, 3, 1}), 0);
  sampler.note(0);
  EXPECT_EQ(next({5, 3, 1}), 1); // 2.5
  EXPECT_EQ(next({7, 3, 1}), 0); // 3.5
  sampler.note(0);
  EXPECT_EQ(next({7, 3, 1}), 0); // once, however often it stands there
  sampler.note(1);
  EXPECT_EQ(next({-1, -3, -5}), 0);
  EXPECT_EQ(next({-3, -3, -5}), 2); // -6, -6
  EXPECT_EQ(next({-INFINITY, 0, -1}), 1);
}

TEST(Sampler, SeedAndStepDecide) {
  std::vector<float> flat(1000, 0.5f);
  EXPECT_EQ(choose({1, 1, 3}, flat, 5), choose({1, 1, 3}, flat, 5));
  EXPECT_NE(choose({1, 1, 3}, flat, 5), choose({1, 1, 3}, flat, 6));
  EXPECT_NE(choose({1, 1, 3}, flat, 5), choose({1, 1, 4}, flat, 5));
}

TEST(Sampler, SurvivesExtremes) {
  std::vector<float> wide = {3e38f, -3e38f, 0};
  EXPECT_EQ(choose({1e-6, 0.9, 1}, wide), 0);
  EXPECT_EQ(choose({1, 1, 1}, {2}), 0);
}

} // namespace
