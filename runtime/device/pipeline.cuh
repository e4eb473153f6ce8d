//===- pipeline.cuh - rings of barriers and bounded waits ---------------------------------------------------------===//
//
// Built on the primitives, the same text for the GPU and for the emulation.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// Position in a ring of mbarriers: the stage and the parity of its current round. Consumers wait with this parity on
/// "full", producers with the other one on "empty", which passes at once in the first round.
struct Ring {
  int stage = 0;
  uint32_t parity = 0;
};

template <int kStages> MOE_DEVICE void advance(Ring &ring) {
  if (++ring.stage == kStages) {
    ring.stage = 0;
    ring.parity ^= 1;
  }
}

/// Returns when the phase of this parity has completed.
MOE_DEVICE void wait(SharedAddress barrier, uint32_t parity MOE_CALLER) {
  while (!tryWait(barrier, parity MOE_FROM_CALLER)) {
  }
}

enum class Wait { Ready, Aborted, TimedOut };

/// Returns when *counter has reached `want`; counters may wrap around, so the difference is signed. Looks at the abort
/// word and at the time now and then: polling them each time would cost the senders bandwidth.
MOE_DEVICE Wait waitCounter(const uint32_t *counter, uint32_t want, const uint32_t *abortWord,
                            uint64_t nanoseconds MOE_CALLER) {
  uint64_t start = 0;
  for (uint32_t polls = 0; int32_t(loadAcquire(counter MOE_FROM_CALLER) - want) < 0; ++polls) {
    if (polls % 64 == 0) {
      if (loadAcquire(abortWord MOE_FROM_CALLER))
        return Wait::Aborted;
      const uint64_t now = globalTime();
      if (!start)
        start = now;
      if (now - start > nanoseconds)
        return Wait::TimedOut;
    }
    backOff();
  }
  return Wait::Ready;
}

} // namespace moe
