//===- math.cuh - functions of f32 --------------------------------------------------------------------------------===//
//
// Kernel text writes them with their namespace: moe::exp.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

MOE_DEVICE float exp(float x) { return ::expf(x); }
MOE_DEVICE float log(float x) { return ::logf(x); }
MOE_DEVICE float tanh(float x) { return ::tanhf(x); }
MOE_DEVICE float erf(float x) { return ::erff(x); }
MOE_DEVICE float sin(float x) { return ::sinf(x); }
MOE_DEVICE float cos(float x) { return ::cosf(x); }
MOE_DEVICE float sqrt(float x) { return ::sqrtf(x); }
MOE_DEVICE float rsqrt(float x) { return ::rsqrtf(x); }
MOE_DEVICE float expm1(float x) { return ::expm1f(x); }
MOE_DEVICE float log1p(float x) { return ::log1pf(x); }
MOE_DEVICE float pow(float x, float y) { return ::powf(x, y); }
MOE_DEVICE float fmod(float x, float y) { return ::fmodf(x, y); }
/// 2^x within 2^-22 of it, and 1/x within 2^-23. Subnormal arguments and results count as zeros.
MOE_DEVICE float exp2Approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
MOE_DEVICE float reciprocalApproximate(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
MOE_DEVICE float abs(float x) { return ::fabsf(x); }
MOE_DEVICE float floor(float x) { return ::floorf(x); }
MOE_DEVICE float ceil(float x) { return ::ceilf(x); }
/// a * b + c, rounded once.
MOE_DEVICE float fma(float a, float b, float c) { return ::fmaf(a, b, c); }

/// IEEE 754 maximum and minimum (arith.maximumf, minimumf): NaN if an operand is, and -0 < +0.
MOE_DEVICE float maximum(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
MOE_DEVICE float minimum(float a, float b) {
  float c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}

/// The other operand if one is NaN (arith.maxnumf, minnumf), and -0 < +0.
MOE_DEVICE float maximumNumber(float a, float b) {
  float c;
  asm("max.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
MOE_DEVICE float minimumNumber(float a, float b) {
  float c;
  asm("min.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}

} // namespace moe
