//===- ClockTest.cpp - vector clocks that share what is the same --------------------------------------------------===//

#include "Clock.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace moe::emulation;

namespace {

constexpr int kBlocks = 5, kWidth = 7, kRanks = 2;

/// The same by its definition.
struct Plain {
  std::map<int, std::vector<uint32_t>> blocks;
  uint32_t ended[kRanks] = {};

  static bool isIn(const LaunchNumber &launch, const uint32_t *ended) { return ended[launch.rank] > launch.number; }
  uint32_t get(int block, int slot) const {
    if (auto found = blocks.find(block); found != blocks.end())
      return found->second[slot];
    return isIn(Clock::launches[block], ended) ? ~0u : 0;
  }
  void raise(int block, int slot, uint32_t epoch) {
    std::vector<uint32_t> &slots = blocks.try_emplace(block, std::vector<uint32_t>(kWidth)).first->second;
    slots[slot] = std::max(slots[slot], epoch);
  }
  void end(int rank, uint32_t count) {
    if (count <= ended[rank])
      return;
    ended[rank] = count;
    std::erase_if(blocks, [&](const auto &block) { return isIn(Clock::launches[block.first], ended); });
  }
  void join(const Plain &other) {
    for (int rank = 0; rank < kRanks; ++rank)
      end(rank, other.ended[rank]);
    for (const auto &[block, slots] : other.blocks)
      if (!isIn(Clock::launches[block], ended))
        for (int slot = 0; slot < kWidth; ++slot)
          raise(block, slot, slots[slot]);
  }
  bool includes(const Plain &other) const {
    for (int rank = 0; rank < kRanks; ++rank)
      if (other.ended[rank] > ended[rank])
        return false;
    for (const auto &[block, slots] : other.blocks)
      for (int slot = 0; slot < kWidth; ++slot)
        if (slots[slot] > get(block, slot))
          return false;
    return true;
  }
};

struct Clocks : testing::Test {
  int width = Clock::width;
  std::vector<LaunchNumber> launches = Clock::launches;
  void SetUp() override {
    Clock::width = kWidth;
    Clock::launches = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {1, 1}};
  }
  void TearDown() override {
    Clock::width = width;
    Clock::launches = launches;
  }
};

} // namespace

TEST_F(Clocks, AreWhatTheirDefinitionSays) {
  constexpr int kClocks = 6;
  int included = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](int count) { return int(random() % uint32_t(count)); };
    std::vector<Clock> clocks(kClocks);
    std::vector<Plain> plain(kClocks);
    const int threads = 1 + below(kWidth); // a clock mostly raises the slot of its own
    for (int step = 0; step < 120; ++step) {
      const int i = below(kClocks), j = below(kClocks);
      switch (below(12)) {
      case 0:
        clocks[i].clear();
        plain[i] = {};
        break;
      case 1: {
        const int rank = below(kRanks);
        const auto count = uint32_t(below(20) == 0);
        clocks[i].end(rank, count);
        plain[i].end(rank, count);
        break;
      }
      case 2:
      case 3:
      case 4: {
        const int block = below(kBlocks), slot = below(4) ? i % threads : below(kWidth);
        const auto epoch = uint32_t(below(step + 1));
        clocks[i].raise(block, slot, epoch);
        plain[i].raise(block, slot, epoch);
        break;
      }
      case 5: // a meeting of all
        for (int k = 1; k < kClocks; ++k) {
          clocks[0].join(clocks[k]);
          plain[0].join(plain[k]);
        }
        for (int k = 1; k < kClocks; ++k) {
          clocks[k].join(clocks[0]);
          plain[k].join(plain[0]);
        }
        break;
      default:
        if (i != j) {
          clocks[i].join(clocks[j]);
          plain[i].join(plain[j]);
        }
      }
      for (int k = 0; k < kClocks; ++k)
        for (int block = 0; block < kBlocks; ++block)
          for (int slot = 0; slot < kWidth; ++slot)
            ASSERT_EQ(clocks[k].get(block, slot), plain[k].get(block, slot)) << seed << " " << step << " " << k;
      ASSERT_EQ(clocks[i].includes(clocks[j]), plain[i].includes(plain[j])) << seed << " " << step;
      included += i != j && plain[i].includes(plain[j]);
    }
  }
  EXPECT_GT(included, 300);
}
