//===- warp.cuh - the threads of a warp ---------------------------------------------------------------------------===//
//
// All threads of the warp that have not ended take part. Only syncWarp orders memory.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

MOE_DEVICE void syncWarp() { __syncwarp(); }

/// The value of lane (own lane ^ mask). T has 4 bytes.
template <typename T> MOE_DEVICE T shuffleXor(T value, int mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }

/// The value of the lane `distance` below; the first `distance` lanes keep their own.
template <typename T> MOE_DEVICE T shuffleUp(T value, int distance) {
  return __shfl_up_sync(0xffffffffu, value, distance);
}

/// The value of lane `lane`, which is the same number in all lanes.
template <typename T> MOE_DEVICE T broadcast(T value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }

/// Bit l is set if lane l passes true.
MOE_DEVICE uint32_t ballotWarp(bool condition) { return __ballot_sync(0xffffffffu, condition); }

/// Bit l is set if lane l passes the same value. T has 4 bytes.
template <typename T> MOE_DEVICE uint32_t matchWarp(T value) { return __match_any_sync(0xffffffffu, value); }

/// Lanes in a mask.
MOE_DEVICE int countBits(uint32_t mask) { return __popc(mask); }

} // namespace moe
