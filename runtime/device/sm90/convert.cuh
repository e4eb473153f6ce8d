//===- convert.cuh - between storage types and float --------------------------------------------------------------===//
//
// Rounding is to nearest even; NaN becomes 0x7fff.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

MOE_DEVICE float toFloat(float x) { return x; }
MOE_DEVICE float toFloat(Bf16 x) { return __uint_as_float(uint32_t(x.bits) << 16); }
MOE_DEVICE float toFloat(F16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}

/// T is float, Bf16 or F16.
template <typename T> MOE_DEVICE T fromFloat(float x);
template <> __device__ __forceinline__ float fromFloat<float>(float x) { return x; }
template <> __device__ __forceinline__ Bf16 fromFloat<Bf16>(float x) {
  Bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
template <> __device__ __forceinline__ F16 fromFloat<F16>(float x) {
  F16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

/// Sign, exponent and fraction, as the number has them.
MOE_DEVICE int32_t bitsOf(float x) { return __float_as_int(x); }

/// Two elements in 4 bytes, the first in the low half.
MOE_DEVICE uint32_t packBf16(float low, float high) {
  uint32_t v;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
  return v;
}
MOE_DEVICE uint32_t packF16(float low, float high) {
  uint32_t v;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(high), "f"(low));
  return v;
}

/// The elements of such a pair.
MOE_DEVICE float lowBf16(uint32_t pair) { return __uint_as_float(pair << 16); }
MOE_DEVICE float highBf16(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }
MOE_DEVICE float lowF16(uint32_t pair) { return toFloat(F16{uint16_t(pair)}); }
MOE_DEVICE float highF16(uint32_t pair) { return toFloat(F16{uint16_t(pair >> 16)}); }

} // namespace moe
