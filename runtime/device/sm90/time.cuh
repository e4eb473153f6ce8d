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

/// Cycles of the multiprocessor; only differences of the same one mean anything.
MOE_DEVICE uint64_t cycleCount() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}

} // namespace moe
