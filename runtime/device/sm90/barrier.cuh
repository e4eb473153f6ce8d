//===- barrier.cuh - mbarriers ------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// Phase 0 begins: it completes after `arrivals` arrivals, when all bytes announced have landed.
MOE_DEVICE void initBarrier(SharedAddress barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes the calling thread's initBarrier visible to the TMA unit.
MOE_DEVICE void fenceBarrierInit() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/// Release: what the thread did before is visible to those who see the phase complete.
MOE_DEVICE void arrive(SharedAddress barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Announces bytes that TMA will write, then arrives.
MOE_DEVICE void arriveExpect(SharedAddress barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// Has the phase of this parity completed? Acquire if so. Waits for a while first, and may return false.
MOE_DEVICE bool tryWait(SharedAddress barrier, uint32_t parity) {
  uint32_t done;
  asm volatile("{\n"
               ".reg .pred p;\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
               "selp.u32 %0, 1, 0, p;\n"
               "}"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return done != 0;
}

} // namespace moe
