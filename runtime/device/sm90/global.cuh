//===- global.cuh - global memory ---------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// One aligned access of 1, 2, 4, 8 or 16 bytes; the type decides.
template <typename T> MOE_DEVICE T loadGlobal(const T *p) { return *p; }
template <typename T> MOE_DEVICE void storeGlobal(T *p, T value) { *p = value; }

/// 16 bytes that nobody writes during the launch and that are read once: weights. They pass by the L1 cache.
MOE_DEVICE uint4 loadStreamed(const uint4 *p) {
  uint4 v;
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(p));
  return v;
}

/// Atomic add; returns the value before. Relaxed: orders nothing else.
MOE_DEVICE uint32_t addGlobal(uint32_t *p, uint32_t value) {
  uint32_t before;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(value) : "memory");
  return before;
}

/// What the writing thread knew at its addRelease or storeRelease is known to a thread that reads the result with
/// loadAcquire.
MOE_DEVICE uint32_t loadAcquire(const uint32_t *p) {
  uint32_t v;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
MOE_DEVICE void addRelease(uint32_t *p, uint32_t value) {
  asm volatile("red.release.sys.global.add.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}
/// The same for threads of this device.
MOE_DEVICE void addReleaseDevice(uint32_t *p, uint32_t value) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}
MOE_DEVICE void storeRelease(uint32_t *p, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(value) : "memory");
}
/// Both, between the blocks of a launch; returns the value before.
MOE_DEVICE uint32_t addAcquireRelease(uint32_t *p, uint32_t value) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(value) : "memory");
  return before;
}
/// Writes `value` if *p is `expected`; returns the value before. Release if it wrote: the first of several reports
/// wins.
MOE_DEVICE uint32_t compareExchangeRelease(uint32_t *p, uint32_t expected, uint32_t value) {
  uint32_t before;
  asm volatile("atom.release.sys.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(before)
               : "l"(p), "r"(expected), "r"(value)
               : "memory");
  return before;
}

} // namespace moe
