//===- elements.cuh - several elements of 2 or 4 bytes at once ----------------------------------------------------===//
//
// Built on the primitives, the same text for the GPU and for the emulation.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// Elements [first, first + 8) of a row of bf16 or f16 whose start has no alignment; zeros from `end` on.
template <typename T> MOE_DEVICE uint4 loadEight(const T *row, int first, int end MOE_CALLER) {
  uint32_t pairs[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = first + 2 * i;
    const uint32_t low = at < end ? loadGlobal(row + at MOE_FROM_CALLER).bits : 0;
    const uint32_t high = at + 1 < end ? loadGlobal(row + at + 1 MOE_FROM_CALLER).bits : 0;
    pairs[i] = low | high << 16;
  }
  return uint4{pairs[0], pairs[1], pairs[2], pairs[3]};
}

/// Stores two neighbours at once; `to` is aligned for both.
template <typename T> MOE_DEVICE void storePair(T *to, T first, T second MOE_CALLER) {
  if constexpr (sizeof(T) == 2)
    storeGlobal(reinterpret_cast<uint32_t *>(to), uint32_t(first.bits) | uint32_t(second.bits) << 16 MOE_FROM_CALLER);
  else
    storeGlobal(reinterpret_cast<uint64_t *>(to),
                uint64_t(__builtin_bit_cast(uint32_t, first)) | uint64_t(__builtin_bit_cast(uint32_t, second))
                                                                    << 32 MOE_FROM_CALLER);
}

} // namespace moe
