//===- RandomWeightsTest.cpp - weights made on the spot -----------------------------------------------------------===//

#include "core/RandomWeights.h"
#include "Npy.h"

#include <gtest/gtest.h>

#include <set>

using namespace moert;

namespace {

template <typename Element> std::vector<Element> make(uint64_t seed, const char *key, int32_t dtype, size_t count) {
  std::vector<Element> data(count, Element(1));
  fillRandom(seed, key, dtype, data.data(), count * sizeof(Element));
  return data;
}

TEST(RandomWeights, AreUniformMultiplesThatEveryTypeHolds) {
  constexpr size_t kCount = 1 << 16;
  std::vector<float> f32 = make<float>(7, "w", MOERT_F32, kCount);
  auto bf16 = make<uint16_t>(7, "w", MOERT_BF16, kCount), f16 = make<uint16_t>(7, "w", MOERT_F16, kCount);
  auto f64 = make<double>(7, "w", MOERT_F64, kCount);
  std::set<float> values(f32.begin(), f32.end());
  EXPECT_EQ(values.size(), 256u);
  EXPECT_EQ(*values.begin(), -1.0f / 16);
  EXPECT_EQ(*values.rbegin(), 127.0f / 2048);
  double sum = 0;
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(f32[i] * 2048, static_cast<float>(static_cast<int>(f32[i] * 2048)));
    ASSERT_EQ(fromBf16(bf16[i]), f32[i]);
    ASSERT_EQ(fromF16(f16[i]), f32[i]);
    ASSERT_EQ(f64[i], f32[i]);
    sum += f64[i];
  }
  // The mean is -1/4096; that of so many has a standard deviation of 1.4e-4.
  EXPECT_NEAR(sum / kCount, -1.0 / 4096, 6e-4);
}

TEST(RandomWeights, DependOnSeedAndKeyOnly) {
  auto a = make<float>(7, "w", MOERT_F32, 100), longer = make<float>(7, "w", MOERT_F32, 1003);
  EXPECT_TRUE(std::equal(a.begin(), a.end(), longer.begin()));
  EXPECT_NE(a, make<float>(8, "w", MOERT_F32, 100));
  EXPECT_NE(a, make<float>(7, "v", MOERT_F32, 100));
}

/// A rank makes its part of a parameter alone.
TEST(RandomWeights, OfAPartAreThoseOfTheWhole) {
  auto whole = make<uint16_t>(7, "w", MOERT_BF16, 1003);
  for (size_t begin : {0, 1, 7, 8, 9, 500, 1003})
    for (size_t count : {size_t(0), size_t(1), size_t(8), size_t(61), 1003 - begin}) {
      if (begin + count > whole.size())
        continue;
      std::vector<uint16_t> part(count + 1, 1);
      fillRandom(7, "w", MOERT_BF16, part.data(), 2 * count, 2 * begin);
      EXPECT_TRUE(std::equal(part.begin(), part.end() - 1, whole.begin() + static_cast<ptrdiff_t>(begin)));
      EXPECT_EQ(part.back(), 1) << "nothing behind the part";
    }
}

TEST(RandomWeights, AreZeroWhereTheyAreIntegers) {
  EXPECT_EQ(make<int64_t>(7, "w", MOERT_I64, 3), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(make<uint8_t>(7, "w", MOERT_BOOL, 2), (std::vector<uint8_t>{0, 0}));
}

} // namespace
