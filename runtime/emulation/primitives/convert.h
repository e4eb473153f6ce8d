//===- convert.h - between storage types and float ----------------------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_CONVERT_H
#define MOE_EMULATION_PRIMITIVES_CONVERT_H

#include "../Convert.h"

namespace moe {

inline float toFloat(float x) { return x; }
inline float toFloat(Bf16 x) { return emulation::fromBf16Bits(x.bits); }
inline float toFloat(F16 x) { return emulation::fromF16Bits(x.bits); }

template <typename T> T fromFloat(float x);
template <> inline float fromFloat<float>(float x) { return x; }
template <> inline Bf16 fromFloat<Bf16>(float x) { return {emulation::toBf16Bits(x)}; }
template <> inline F16 fromFloat<F16>(float x) { return {emulation::toF16Bits(x)}; }

inline int32_t bitsOf(float x) { return int32_t(emulation::bitsOf(x)); }

inline uint32_t packBf16(float low, float high) {
  return emulation::toBf16Bits(low) | uint32_t(emulation::toBf16Bits(high)) << 16;
}
inline uint32_t packF16(float low, float high) {
  return emulation::toF16Bits(low) | uint32_t(emulation::toF16Bits(high)) << 16;
}

inline float lowBf16(uint32_t pair) { return emulation::fromBf16Bits(uint16_t(pair)); }
inline float highBf16(uint32_t pair) { return emulation::fromBf16Bits(uint16_t(pair >> 16)); }
inline float lowF16(uint32_t pair) { return emulation::fromF16Bits(uint16_t(pair)); }
inline float highF16(uint32_t pair) { return emulation::fromF16Bits(uint16_t(pair >> 16)); }

} // namespace moe

#endif
