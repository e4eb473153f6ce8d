//===- time.cuh - time --------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// Leaves the memory system to the others for a moment.
MOE_DEVICE void backOff() { __nanosleep(64); }

/// Nanoseconds.
MOE_DEVICE uint64_t globalTime() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

} // namespace moe
