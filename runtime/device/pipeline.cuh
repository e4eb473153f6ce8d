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

/// Memory that a proxy fence orders: that of the block, or all.
enum class ProxyFence { Shared, All };

template <ProxyFence kFence> MOE_DEVICE void fenceProxy() {
  if constexpr (kFence == ProxyFence::Shared)
    fenceProxyAsyncShared();
  else
    fenceProxyAsync();
}

/// A ring of kStages stages of kBytes bytes in shared memory, behind 1 KiB of barriers, as a thread knows it: its
/// position, and the steps whose copies it has not announced yet. Stage s has its barrier "full" at 16 * s and "empty" 8
/// bytes behind it.
template <int kStages, int kBytes> struct StageRing {
  SharedAddress barriers;
  Ring at;
  int unannounced = 0;

  MOE_MEMBER SharedAddress address() const { return barriers + 1024 + kBytes * at.stage; }
  /// Of the stage `back` steps ago.
  MOE_MEMBER SharedAddress full(int back = 0) const { return barriers + 16 * stageBefore(back); }
  MOE_MEMBER SharedAddress empty(int back = 0) const { return full(back) + 8; }

private:
  MOE_MEMBER int stageBefore(int back) const { return back == 0 ? at.stage : (at.stage + kStages - back) % kStages; }
};

/// All threads of the block meet. A stage is full after kFills arrivals and empty after kReleases.
template <int kStages, int kBytes, int kFills, int kReleases>
MOE_DEVICE StageRing<kStages, kBytes> makeRing(MOE_ONLY_CALLER) {
  StageRing<kStages, kBytes> ring{dynamicShared(), {}};
  if (threadIndex() == 0) {
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      initBarrier(ring.barriers + 16 * stage, kFills MOE_FROM_CALLER);
      initBarrier(ring.barriers + 16 * stage + 8, kReleases MOE_FROM_CALLER);
    }
    fenceBarrierInit();
  }
  syncBlock();
  return ring;
}

template <int kStages, int kBytes> MOE_DEVICE void advance(StageRing<kStages, kBytes> &ring) {
  advance<kStages>(ring.at);
}

/// Returns the address of the stage when it is empty.
template <int kStages, int kBytes> MOE_DEVICE SharedAddress acquire(const StageRing<kStages, kBytes> &ring MOE_CALLER) {
  wait(ring.empty(), ring.at.parity ^ 1 MOE_FROM_CALLER);
  return ring.address();
}

/// Returns the address of the stage when it is full.
template <int kStages, int kBytes> MOE_DEVICE SharedAddress await(const StageRing<kStages, kBytes> &ring MOE_CALLER) {
  wait(ring.full(), ring.at.parity MOE_FROM_CALLER);
  return ring.address();
}

/// One thread: kCount bytes will come by loadBox.
template <int kCount, int kStages, int kBytes>
MOE_DEVICE void expect(const StageRing<kStages, kBytes> &ring MOE_CALLER) {
  arriveExpect(ring.full(), kCount MOE_FROM_CALLER);
}

/// One thread: starts a copy of a box into the stage.
template <int kStages, int kBytes>
MOE_DEVICE void loadBox(const StageRing<kStages, kBytes> &ring, SharedAddress to, const CUtensorMap &map, int x,
                        int y MOE_CALLER) {
  loadTile2d(to, &map, ring.full(), x, y MOE_FROM_CALLER);
}

/// A warp that fills nothing itself arrives when all its lanes have seen the stage empty: none falls a round behind.
template <int kStages, int kBytes> MOE_DEVICE void arriveWarp(const StageRing<kStages, kBytes> &ring MOE_CALLER) {
  syncWarp();
  if (threadIndex() % 32 == 0)
    arrive(ring.full() MOE_FROM_CALLER);
}

/// Each thread arrives, and hands over what it has stored in the stage.
template <int kStages, int kBytes> MOE_DEVICE void arriveThread(const StageRing<kStages, kBytes> &ring MOE_CALLER) {
  arrive(ring.full() MOE_FROM_CALLER);
}

/// Each thread arrives when the copies that it has issued so far have landed.
template <int kStages, int kBytes> MOE_DEVICE void arriveCopied(const StageRing<kStages, kBytes> &ring MOE_CALLER) {
  arriveWhenCopied(ring.full() MOE_FROM_CALLER);
}

/// No thread ends while arrivals are due that wait for its copies.
MOE_DEVICE void endCopies() {
  commitCopies();
  waitCopies<0>();
}

/// A warp arrives for the stage whose copies were issued kStages - 2 steps ago; those of this step are on their way.
template <ProxyFence kFence, int kStages, int kBytes>
MOE_DEVICE void announce(StageRing<kStages, kBytes> &ring MOE_CALLER) {
  constexpr int kLag = kStages - 2;
  commitCopies();
  if (ring.unannounced < kLag) {
    ++ring.unannounced;
  } else {
    waitCopies<kLag>();
    fenceProxy<kFence>();
    syncWarp();
    if (threadIndex() % 32 == 0)
      arrive(ring.full(kLag) MOE_FROM_CALLER);
  }
}

/// A warp arrives for all stages that announce has put off.
template <ProxyFence kFence, int kStages, int kBytes>
MOE_DEVICE void drain(StageRing<kStages, kBytes> &ring MOE_CALLER) {
  waitCopies<0>();
  fenceProxy<kFence>();
  syncWarp();
  for (; ring.unannounced > 0; --ring.unannounced)
    if (threadIndex() % 32 == 0)
      arrive(ring.full(ring.unannounced) MOE_FROM_CALLER);
}

/// A warp arrives for the stage kBack steps ago, of which the products have been waited for.
template <int kBack, int kStages, int kBytes>
MOE_DEVICE void release(const StageRing<kStages, kBytes> &ring MOE_CALLER) {
  if (threadIndex() % 32 == 0)
    arrive(ring.empty(kBack) MOE_FROM_CALLER);
}

/// A warp arrives for the stage that its lanes have read; bulk copies write there next.
template <ProxyFence kFence, int kStages, int kBytes>
MOE_DEVICE void releaseRead(const StageRing<kStages, kBytes> &ring MOE_CALLER) {
  fenceProxy<kFence>();
  syncWarp();
  release<0>(ring MOE_FROM_CALLER);
}

enum class Wait { Ready, Aborted, TimedOut };

/// Returns when *counter has reached `want`; counters may wrap around, so the difference is signed. Looks at the abort
/// word, if there is one, and at the time now and then: polling them each time would cost the senders bandwidth.
MOE_DEVICE Wait waitCounter(const uint32_t *counter, uint32_t want, const uint32_t *abortWord,
                            uint64_t nanoseconds MOE_CALLER) {
  uint64_t start = 0;
  for (uint32_t polls = 0; int32_t(loadAcquire(counter MOE_FROM_CALLER) - want) < 0; ++polls) {
    if (polls % 64 == 0) {
      if (abortWord && loadAcquire(abortWord MOE_FROM_CALLER))
        return Wait::Aborted;
      const uint64_t now = globalTime();
      if (!start)
        start = now;
      if (now - start > nanoseconds)
        return Wait::TimedOut;
    }
    backOff(MOE_ONLY_FROM_CALLER);
  }
  return Wait::Ready;
}

} // namespace moe
