//===- Numbers.cpp - element types --------------------------------------------------------------------------------===//

#include "Npy.h"

#include <cmath>
#include <cstring>

namespace moert {

uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) // a NaN whose payload would be cut off must not become infinity
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float fromBf16(uint16_t value) {
  uint32_t bits = static_cast<uint32_t>(value) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

float fromF16(uint16_t value) {
  int exponent = value >> 10 & 31, mantissa = value & 1023;
  float magnitude = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                    : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                     : std::ldexp(static_cast<float>(mantissa | 1024), exponent - 25);
  return value >> 15 ? -magnitude : magnitude;
}

bool isInteger(int32_t dtype) { return dtype >= MOERT_I64; }

int64_t elementAsInteger(int32_t dtype, const void *data, int64_t index) {
  switch (dtype) {
  case MOERT_I64:
    return static_cast<const int64_t *>(data)[index];
  case MOERT_I32:
    return static_cast<const int32_t *>(data)[index];
  case MOERT_I16:
    return static_cast<const int16_t *>(data)[index];
  case MOERT_I8:
    return static_cast<const int8_t *>(data)[index];
  default:
    return static_cast<const uint8_t *>(data)[index];
  }
}

double elementAsDouble(int32_t dtype, const void *data, int64_t index) {
  switch (dtype) {
  case MOERT_F32:
    return static_cast<const float *>(data)[index];
  case MOERT_BF16:
    return fromBf16(static_cast<const uint16_t *>(data)[index]);
  case MOERT_F16:
    return fromF16(static_cast<const uint16_t *>(data)[index]);
  case MOERT_F64:
    return static_cast<const double *>(data)[index];
  default:
    return static_cast<double>(elementAsInteger(dtype, data, index));
  }
}

int64_t elementCount(int32_t rank, const int64_t *sizes) {
  int64_t count = 1;
  for (int32_t i = 0; i < rank; ++i)
    count *= sizes[i];
  return count;
}

} // namespace moert
