//===- Convert.h - bits of f32, bf16 and f16 ----------------------------------------------------------------------===//
#ifndef MOE_EMULATION_CONVERT_H
#define MOE_EMULATION_CONVERT_H

#include <cstdint>
#include <cstring>

namespace moe::emulation {

inline uint32_t bitsOf(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return u;
}
inline float floatOf(uint32_t u) {
  float x;
  memcpy(&x, &u, 4);
  return x;
}

constexpr uint16_t kHalfNan = 0x7fff; // what the GPU's conversions make of every NaN

inline float fromBf16Bits(uint16_t v) { return floatOf(uint32_t(v) << 16); }

inline uint16_t toBf16Bits(float x) {
  const uint32_t u = bitsOf(x);
  if ((u & 0x7fffffff) > 0x7f800000)
    return kHalfNan;
  return uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

inline float fromF16Bits(uint16_t v) {
  const uint32_t sign = uint32_t(v & 0x8000) << 16, exponent = v >> 10 & 31, fraction = v & 0x3ff;
  if (exponent == 31)
    return floatOf(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0) {
    const float x = float(fraction) * 0x1p-24f;
    return sign ? -x : x;
  }
  return floatOf(sign | (exponent + 112) << 23 | fraction << 13);
}

inline uint16_t toF16Bits(float x) {
  const uint32_t u = bitsOf(x), size = u & 0x7fffffff;
  const uint16_t sign = uint16_t(u >> 16 & 0x8000);
  if (size > 0x7f800000)
    return kHalfNan;
  if (size >= 0x477ff000) // from 65520 on: infinity
    return sign | 0x7c00;
  if (size < 0x38800000) { // subnormal: adding 0.5 leaves multiples of 2^-24, rounded to nearest even
    return uint16_t(sign | (bitsOf(floatOf(size) + 0.5f) - bitsOf(0.5f)));
  }
  return uint16_t(sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13));
}

} // namespace moe::emulation

#endif
