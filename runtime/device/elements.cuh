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

/// Elements [first, first + 4) of a row of f32; zeros from `end` on.
MOE_DEVICE uint4 loadFour(const float *row, int first, int end MOE_CALLER) {
  uint32_t bits[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    bits[i] = first + i < end ? __builtin_bit_cast(uint32_t, loadGlobal(row + first + i MOE_FROM_CALLER)) : 0;
  return uint4{bits[0], bits[1], bits[2], bits[3]};
}

/// Accumulators that have no value yet.
template <int kN> MOE_DEVICE Accumulators<kN> accumulators() { return Accumulators<kN>(); }

/// Quotient and exponential of activations whose results are rounded to 16 bits. The quotient is within 2^-22 of the
/// exact one, e^x within 2^-21 + |x| 2^-23; what is below 2^-126 counts as 0, 1 / y included.
MOE_DEVICE float approximateQuotient(float x, float y) { return x * reciprocalApproximate(y); }
MOE_DEVICE float approximateExp(float x) { return exp2Approximate(x * 1.442695041f); }

/// Stores two neighbours at once; `to` is aligned for both.
template <typename T> MOE_DEVICE void storePair(T *to, T first, T second MOE_CALLER) {
  if constexpr (sizeof(T) == 2)
    storeGlobal(reinterpret_cast<uint32_t *>(to), uint32_t(first.bits) | uint32_t(second.bits) << 16 MOE_FROM_CALLER);
  else
    storeGlobal(reinterpret_cast<uint64_t *>(to),
                uint64_t(__builtin_bit_cast(uint32_t, first)) | uint64_t(__builtin_bit_cast(uint32_t, second))
                                                                    << 32 MOE_FROM_CALLER);
}

/// `kCount` elements of type T, 4, 8 or 16 bytes.
template <typename T, int kCount> struct alignas(kCount * sizeof(T)) Vector {
  using Element = T;
  T at[kCount];
};

/// What is read and written at once: an integer, or four of them.
template <int kBytes> struct VectorBits;
template <> struct VectorBits<4> {
  using Type = uint32_t;
};
template <> struct VectorBits<8> {
  using Type = uint64_t;
};
template <> struct VectorBits<16> {
  using Type = uint4;
};

/// The vector at `p`, which is aligned to its size.
template <typename V> MOE_DEVICE V loadVector(const typename V::Element *p MOE_CALLER) {
  using Bits = typename VectorBits<sizeof(V)>::Type;
  return __builtin_bit_cast(V, loadGlobal(reinterpret_cast<const Bits *>(p) MOE_FROM_CALLER));
}
template <typename V> MOE_DEVICE void storeVector(typename V::Element *p, V v MOE_CALLER) {
  using Bits = typename VectorBits<sizeof(V)>::Type;
  storeGlobal(reinterpret_cast<Bits *>(p), __builtin_bit_cast(Bits, v) MOE_FROM_CALLER);
}

template <typename T, int kCount> MOE_DEVICE T element(const Vector<T, kCount> &v, int64_t i) { return v.at[i]; }
/// `v`, but `value` at `i`.
template <typename T, int kCount> MOE_DEVICE Vector<T, kCount> withElement(Vector<T, kCount> v, int64_t i, T value) {
  v.at[i] = value;
  return v;
}

} // namespace moe
