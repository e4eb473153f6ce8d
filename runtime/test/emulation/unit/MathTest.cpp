//===- MathTest.cpp - conversions, maxima, layouts ----------------------------------------------------------------===//

#include "Convert.h"
#include "Launching.h"

#include <set>

using namespace moe;
using moe::emulation::floatOf;

TEST(Convert, Bf16RoundsToNearestEven) {
  EXPECT_EQ(fromFloat<Bf16>(1.0f).bits, 0x3f80);
  EXPECT_EQ(fromFloat<Bf16>(floatOf(0x3f808000)).bits, 0x3f80);
  EXPECT_EQ(fromFloat<Bf16>(floatOf(0x3f818000)).bits, 0x3f82);
  EXPECT_EQ(fromFloat<Bf16>(floatOf(0x3f808001)).bits, 0x3f81);
  EXPECT_EQ(fromFloat<Bf16>(3.4e38f).bits, 0x7f80);
  EXPECT_EQ(fromFloat<Bf16>(NAN).bits, 0x7fff);
  EXPECT_EQ(packBf16(1, -2), 0xc0003f80u);
  EXPECT_EQ(lowBf16(0xc0003f80u), 1);
  EXPECT_EQ(highBf16(0xc0003f80u), -2);
}

TEST(Convert, F16RoundTripsAndRounds) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    if ((bits & 0x7fff) <= 0x7c00) { // not NaN
      EXPECT_EQ(fromFloat<F16>(toFloat(F16{uint16_t(bits)})).bits, bits);
    }
  EXPECT_EQ(fromFloat<F16>(65519.0f).bits, 0x7bff);
  EXPECT_EQ(fromFloat<F16>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(fromFloat<F16>(0x1p-25f).bits, 0);               // a tie, to even
  EXPECT_EQ(fromFloat<F16>(0x1.8p-24f).bits, 2);             // a tie, to even
  EXPECT_EQ(fromFloat<F16>(1.0f + 0x1p-11f).bits, 0x3c00);   // a tie, to even
  EXPECT_EQ(fromFloat<F16>(1.0f + 0x1.8p-10f).bits, 0x3c02); // a tie, to even
  EXPECT_EQ(fromFloat<F16>(-NAN).bits, 0x7fff);
}

TEST(Math, MaximaAndNaN) {
  EXPECT_TRUE(std::isnan(maximum(1, NAN)));
  EXPECT_TRUE(std::isnan(minimum(NAN, 1)));
  EXPECT_EQ(maximumNumber(1, NAN), 1);
  EXPECT_EQ(minimumNumber(NAN, 1), 1);
  EXPECT_FALSE(std::signbit(maximum(-0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(minimum(0.0f, -0.0f)));
}

TEST(Math, NearOneAndPowers) {
  EXPECT_EQ(moe::expm1(1e-10f), 1e-10f);
  EXPECT_EQ(moe::log1p(1e-10f), 1e-10f);
  EXPECT_EQ(moe::pow(2, 10), 1024);
  EXPECT_EQ(moe::pow(-2, 3), -8);
  EXPECT_EQ(moe::pow(0, 0), 1);
  EXPECT_TRUE(std::isnan(moe::pow(-2, 0.5f)));
}

TEST(Math, Remainders) {
  EXPECT_EQ(moe::fmod(7.5f, -2), 1.5f);
  EXPECT_EQ(moe::fmod(-7.5f, 2), -1.5f);
  EXPECT_EQ(moe::fmod(1, INFINITY), 1);
  EXPECT_TRUE(std::isnan(moe::fmod(1, 0)));
}

TEST(Convert, BitsOfFloats) {
  EXPECT_EQ(bitsOf(1), 0x3f800000);
  EXPECT_EQ(bitsOf(-0.0f), INT32_MIN);
}

/// The model of the approximate instructions is as wrong as they may be, on both sides, and not more; what they promise
/// exactly is exact.
TEST(Math, Approximations) {
  bool above = false, below = false;
  for (float x = -90; x < 90; x += 0.37f) {
    const double exact = std::exp2(double(x)), error = exp2Approximate(x) / exact - 1;
    EXPECT_LE(std::fabs(error), 0x1p-22 + 0x1p-24) << x;
    EXPECT_GE(std::fabs(error), 0x1p-23) << x;
    (error > 0 ? above : below) = true;
    EXPECT_LE(std::fabs(reciprocalApproximate(x) * double(x) - 1), 0x1p-23 + 0x1p-24) << x;
    EXPECT_LE(std::fabs(approximateQuotient(3, x) * double(x) / 3 - 1), 0x1p-22) << x;
  }
  EXPECT_TRUE(above && below);
  for (float x = -87; x < 88; x += 0.23f)
    EXPECT_LE(std::fabs(approximateExp(x) / std::exp(double(x)) - 1), 0x1p-21 + std::fabs(x) * 0x1p-23) << x;
  EXPECT_EQ(exp2Approximate(0), 1);
  EXPECT_EQ(approximateExp(-INFINITY), 0);
  EXPECT_EQ(approximateExp(INFINITY), INFINITY);
  EXPECT_EQ(exp2Approximate(-127), 0); // subnormal
  EXPECT_EQ(reciprocalApproximate(INFINITY), 0);
  EXPECT_EQ(reciprocalApproximate(0x1p127f), 0);
  EXPECT_EQ(reciprocalApproximate(-0x1p-130f), -INFINITY);
  EXPECT_TRUE(std::isnan(exp2Approximate(NAN)) && std::isnan(reciprocalApproximate(NAN)));
}

/// Each swizzle permutes the chunks of 8 rows, and spreads a column of chunks over the banks.
TEST(Layout, Swizzles) {
  for (int width : {32, 64, 128}) {
    std::set<uint32_t> places;
    for (uint32_t a = 0x400; a < 0x400u + 8 * width; a += 16) {
      const uint32_t to = swizzle(a, width);
      EXPECT_EQ(to / width, a / width) << "a row stays in its place";
      places.insert(to);
    }
    EXPECT_EQ(places.size(), size_t(8 * width / 16));
  }
  EXPECT_EQ(swizzle(0x400 + 128, 128), 0x400u + 128 + 16);
  EXPECT_EQ(swizzle(0x400 + 3 * 128 + 16, 128), 0x400u + 3 * 128 + 32);
  EXPECT_EQ(swizzle(0x400 + 2 * 64, 64), 0x400u + 2 * 64 + 16);
  EXPECT_EQ(swizzle(0x400 + 4 * 32, 32), 0x400u + 4 * 32 + 16);
}

TEST(Layout, FragmentsCoverTheTileOnce) {
  std::set<std::pair<int, int>> places;
  for (int thread = 0; thread < 128; ++thread)
    for (int i = 0; i < 128; ++i)
      places.insert({fragmentRow(thread, i), fragmentColumn(thread, i)});
  EXPECT_EQ(places.size(), size_t(64 * 256));
  EXPECT_EQ(places.rbegin()->first, 63);
}
