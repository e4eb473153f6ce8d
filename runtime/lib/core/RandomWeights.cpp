//===- RandomWeights.cpp - weights made on the spot ---------------------------------------------------------------===//

#include "core/RandomWeights.h"

#include "moert/archive.h"

namespace moert {

/// The finaliser of splitmix64.
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Bits of (byte - 128) / 2048.
static uint64_t encode(int32_t dtype, int byte) {
  float value = static_cast<float>(byte - 128) / 2048;
  double wide = value;
  uint32_t bits;
  uint64_t wideBits;
  std::memcpy(&bits, &value, sizeof bits);
  std::memcpy(&wideBits, &wide, sizeof wideBits);
  switch (dtype) {
  case MOERT_F64:
    return wideBits;
  case MOERT_F32:
    return bits;
  case MOERT_BF16:
    return bits >> 16;
  default: // f16: the magnitudes are normal numbers there, or zero
    return bits << 1 ? (bits >> 16 & 0x8000) | ((bits & 0x7fffffff) - (112u << 23)) >> 13 : 0;
  }
}

template <typename Element>
static void fill(uint64_t start, int32_t dtype, void *bytes, uint64_t size, uint64_t skipped) {
  auto *data = static_cast<Element *>(bytes);
  uint64_t first = skipped / sizeof(Element), end = first + size / sizeof(Element);
  Element values[256];
  for (int b = 0; b < 256; ++b)
    values[b] = static_cast<Element>(encode(dtype, b));
  for (uint64_t i = first; i < end;) {
    uint64_t word = mix(start + i / 8 * 0x9e3779b97f4a7c15u);
    for (uint64_t last = end < (i | 7) + 1 ? end : (i | 7) + 1; i < last; ++i)
      data[i - first] = values[word >> (8 * (i & 7)) & 0xff];
  }
}

void fillRandom(uint64_t seed, const char *key, int32_t dtype, void *data, uint64_t bytes, uint64_t skipped) {
  uint64_t start = mix(seed) ^ checksum(key, std::strlen(key));
  switch (dtype) {
  case MOERT_F64:
    return fill<uint64_t>(start, dtype, data, bytes, skipped);
  case MOERT_F32:
    return fill<uint32_t>(start, dtype, data, bytes, skipped);
  case MOERT_BF16:
  case MOERT_F16:
    return fill<uint16_t>(start, dtype, data, bytes, skipped);
  default:
    if (bytes)
      std::memset(data, 0, bytes);
  }
}

} // namespace moert
