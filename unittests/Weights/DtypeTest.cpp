//===- DtypeTest.cpp - conversions of elements --------------------------------------------------------------------===//

#include "moe-mlir/Weights/Dtype.h"

#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"

#include <cstring>
#include <random>

using namespace llvm;
using namespace moe_mlir;

static uint16_t toBf16(float value) {
  uint16_t result;
  EXPECT_TRUE(
      convertElements(MOERT_F32, reinterpret_cast<char *>(&value), MOERT_BF16, reinterpret_cast<char *>(&result), 1));
  return result;
}

TEST(Dtype, Bf16RoundsToNearestEven) {
  EXPECT_EQ(toBf16(1.0f), 0x3f80);
  EXPECT_EQ(toBf16(1.00390625f), 0x3f80); // a tie, down to even
  EXPECT_EQ(toBf16(1.01171875f), 0x3f82); // a tie, up to even
  EXPECT_EQ(toBf16(-1.003907f), 0xbf81);
  EXPECT_EQ(toBf16(3.4e38f), 0x7f80); // beyond the largest bf16
  EXPECT_EQ(toBf16(-0.0f), 0x8000);
}

TEST(Dtype, NanStaysNan) {
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u}) {
    float value;
    std::memcpy(&value, &bits, 4);
    uint16_t half = toBf16(value);
    EXPECT_EQ(half & 0x7f80, 0x7f80);
    EXPECT_NE(half & 0x7f, 0);
  }
}

TEST(Dtype, EveryConversionAgreesWithApFloat) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    uint32_t bits = random();
    float value;
    std::memcpy(&value, &bits, 4);
    if (value != value)
      continue;
    APFloat exact(value);
    bool inexact;
    exact.convert(APFloat::BFloat(), APFloat::rmNearestTiesToEven, &inexact);
    EXPECT_EQ(toBf16(value), exact.bitcastToAPInt().getZExtValue()) << value;

    double wide = value * 1.0000001;
    uint16_t half;
    ASSERT_TRUE(
        convertElements(MOERT_F64, reinterpret_cast<char *>(&wide), MOERT_F16, reinterpret_cast<char *>(&half), 1));
    APFloat once(wide);
    once.convert(APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven, &inexact);
    EXPECT_EQ(half, once.bitcastToAPInt().getZExtValue());
  }
}

TEST(Dtype, WideningIsExact) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    uint16_t half = static_cast<uint16_t>(i);
    uint32_t word;
    ASSERT_TRUE(
        convertElements(MOERT_BF16, reinterpret_cast<char *>(&half), MOERT_F32, reinterpret_cast<char *>(&word), 1));
    EXPECT_EQ(word, i << 16);
  }
}

TEST(Dtype, IntegersAreNotConverted) {
  EXPECT_TRUE(isConvertible(MOERT_I64, MOERT_I64));
  EXPECT_FALSE(isConvertible(MOERT_I64, MOERT_F32));
  EXPECT_FALSE(isConvertible(MOERT_F32, MOERT_I8));
}
