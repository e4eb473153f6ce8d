//===- Approximate.h - instructions whose results are near the exact ones -----------------------------------------===//
#ifndef MOE_EMULATION_APPROXIMATE_H
#define MOE_EMULATION_APPROXIMATE_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace moe::emulation {

/// Subnormal numbers count as zeros.
inline float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.f, x) : x; }

/// The exact value, moved by the largest error that the instruction may have, up or down as the bits of `x` say. What a
/// GPU returns is not documented; what follows must hold for any result that is so near.
inline float approximate(double exact, float x, double error) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  const bool up = bits * 0x9e3779b9u >> 31;
  return flushed(float(exact * (up ? 1 + error : 1 - error)));
}

} // namespace moe::emulation

#endif
