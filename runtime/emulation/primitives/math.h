//===- math.h - functions of f32 ----------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_PRIMITIVES_MATH_H
#define MOE_EMULATION_PRIMITIVES_MATH_H

#include "../Approximate.h"

namespace moe {

inline float exp(float x) { return std::exp(x); }
inline float log(float x) { return std::log(x); }
inline float tanh(float x) { return std::tanh(x); }
inline float erf(float x) { return std::erf(x); }
inline float sin(float x) { return std::sin(x); }
inline float cos(float x) { return std::cos(x); }
inline float sqrt(float x) { return std::sqrt(x); }
inline float rsqrt(float x) { return 1 / std::sqrt(x); }
inline float expm1(float x) { return std::expm1(x); }
inline float log1p(float x) { return std::log1p(x); }
inline float pow(float x, float y) { return std::pow(x, y); }
inline float fmod(float x, float y) { return std::fmod(x, y); }
inline float exp2Approximate(float x) {
  return emulation::flushed(x) == 0 ? 1 : emulation::approximate(std::exp2(double(x)), x, 0x1p-22);
}
inline float reciprocalApproximate(float x) {
  return emulation::approximate(1 / double(emulation::flushed(x)), x, 0x1p-23);
}
inline float abs(float x) { return std::fabs(x); }
inline float floor(float x) { return std::floor(x); }
inline float ceil(float x) { return std::ceil(x); }
inline float fma(float a, float b, float c) { return std::fma(a, b, c); }

inline float maximumNumber(float a, float b) {
  if (a == b)
    return std::signbit(a) ? b : a;
  return std::fmax(a, b);
}
inline float minimumNumber(float a, float b) {
  if (a == b)
    return std::signbit(a) ? a : b;
  return std::fmin(a, b);
}
inline float maximum(float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : maximumNumber(a, b); }
inline float minimum(float a, float b) { return std::isnan(a) || std::isnan(b) ? NAN : minimumNumber(a, b); }

} // namespace moe

#endif
