//===- shared.cuh - shared memory ---------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// The dynamic shared memory of the block, at a multiple of 1024.
MOE_DEVICE SharedAddress dynamicShared() {
  extern __shared__ __align__(1024) unsigned char dynamicSharedMemory[];
  return SharedAddress(__cvta_generic_to_shared(dynamicSharedMemory));
}

/// One aligned load of 4, 8 or 16 bytes; the type decides.
template <typename T> MOE_DEVICE T loadShared(SharedAddress a) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "shared memory is read by 4, 8 or 16 bytes");
  if constexpr (sizeof(T) == 4) {
    uint32_t v;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(v) : "r"(a) : "memory");
    return __builtin_bit_cast(T, v);
  } else if constexpr (sizeof(T) == 8) {
    uint64_t v;
    asm volatile("ld.shared.b64 %0, [%1];" : "=l"(v) : "r"(a) : "memory");
    return __builtin_bit_cast(T, v);
  } else {
    uint4 v;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(a)
                 : "memory");
    return __builtin_bit_cast(T, v);
  }
}

/// One aligned store of 4, 8 or 16 bytes; the type decides.
template <typename T> MOE_DEVICE void storeShared(SharedAddress a, T value) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "shared memory is written by 4, 8 or 16 bytes");
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(a), "r"(__builtin_bit_cast(uint32_t, value)) : "memory");
  } else if constexpr (sizeof(T) == 8) {
    asm volatile("st.shared.b64 [%0], %1;" ::"r"(a), "l"(__builtin_bit_cast(uint64_t, value)) : "memory");
  } else {
    const uint4 v = __builtin_bit_cast(uint4, value);
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(a), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
  }
}

/// Atomic add; returns the value before. Relaxed: orders nothing else.
MOE_DEVICE uint32_t addShared(SharedAddress a, uint32_t value) {
  uint32_t before;
  asm volatile("atom.relaxed.cta.shared::cta.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(a), "r"(value) : "memory");
  return before;
}

} // namespace moe
