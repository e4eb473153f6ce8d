//===- exchange.cuh - the ranks of an axis: their windows, and flags that tell of what was put there --------------===//
//
// Built on the primitives, the same text for the GPU and for the emulation. A rank whose wait has ended without its
// flag says so in its status word. From then on it waits for no other rank and tells none anything: its launches come
// to an end, with whatever is in its windows, and the others' deadlines or the abort word end theirs. Its own blocks
// still wait for each other.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// moert_peers of moert.h, in memory that the GPU reads.
struct Peers {
  char *const *base; ///< by rank: its windows
  int32_t rank, ranks;
  uint32_t *epoch, *abort;
  uint32_t *status; ///< two words: the first wait in vain by its peer + 1; then its flag + 1, 0 of arrivals
  int64_t patience; ///< nanoseconds
};

/// Rank `rank`'s part of the window at `offset`.
template <typename T> MOE_DEVICE T *partOf(const Peers *peers, int64_t offset, int64_t rank MOE_CALLER) {
  char *const *base = loadGlobal(&peers->base MOE_FROM_CALLER);
  return reinterpret_cast<T *>(loadGlobal(base + rank MOE_FROM_CALLER) + offset);
}

/// This rank's part.
template <typename T> MOE_DEVICE T *ownPart(const Peers *peers, int64_t offset MOE_CALLER) {
  return partOf<T>(peers, offset, loadGlobal(&peers->rank MOE_FROM_CALLER) MOE_FROM_CALLER);
}

/// The widest integer that rows of `kBytes` bytes are a multiple of; windows and buffers begin at multiples of 16.
template <int kBytes> MOE_DEVICE auto unitOfRows() {
  if constexpr (kBytes % 16 == 0)
    return uint4();
  else if constexpr (kBytes % 8 == 0)
    return uint64_t();
  else if constexpr (kBytes % 4 == 0)
    return uint32_t();
  else if constexpr (kBytes % 2 == 0)
    return uint16_t();
  else
    return uint8_t();
}

/// A warp copies row `row` of `source`, kCount elements, to row `to` of rank `peer`'s part. Up to four loads of a lane
/// are on their way at a time.
template <int kCount, typename T>
MOE_DEVICE void putRow(const T *source, int64_t row, const Peers *peers, int64_t offset, int64_t peer,
                       int64_t to MOE_CALLER) {
  using Unit = decltype(unitOfRows<kCount * int(sizeof(T))>());
  constexpr int kUnits = kCount * int(sizeof(T)) / int(sizeof(Unit));
  constexpr int kBatch = kUnits <= 32 ? 1 : kUnits <= 64 ? 2 : kUnits <= 96 ? 3 : 4;
  const Unit *from = reinterpret_cast<const Unit *>(source + row * kCount);
  Unit *target = reinterpret_cast<Unit *>(partOf<T>(peers, offset, peer MOE_FROM_CALLER) + to * kCount);
  for (int first = threadIndex() % 32; first < kUnits; first += 32 * kBatch) {
    Unit units[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
      if (first + 32 * i < kUnits)
        units[i] = loadGlobal(from + first + 32 * i MOE_FROM_CALLER);
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
      if (first + 32 * i < kUnits)
        storeGlobal(target + first + 32 * i, units[i] MOE_FROM_CALLER);
  }
}

/// Number of the exchange that this rank is in.
MOE_DEVICE int32_t presentEpoch(const Peers *peers MOE_CALLER) {
  return int32_t(loadGlobal(loadGlobal(&peers->epoch MOE_FROM_CALLER) MOE_FROM_CALLER));
}

/// One thread: begins the next exchange.
MOE_DEVICE void nextExchange(const Peers *peers MOE_CALLER) {
  uint32_t *epoch = loadGlobal(&peers->epoch MOE_FROM_CALLER);
  storeGlobal(epoch, loadGlobal(epoch MOE_FROM_CALLER) + 1 MOE_FROM_CALLER);
}

MOE_DEVICE bool isOwnRank(const Peers *peers, int64_t peer MOE_CALLER) {
  return loadGlobal(&peers->rank MOE_FROM_CALLER) == peer;
}

/// One thread, which knows what the others have put: flag `index` of rank `peer`'s part becomes `epoch`.
MOE_DEVICE void signalRank(const Peers *peers, int64_t offset, int64_t peer, int64_t index, uint32_t epoch MOE_CALLER) {
  if (loadAcquire(loadGlobal(&peers->status MOE_FROM_CALLER) MOE_FROM_CALLER) == 0 ||
      isOwnRank(peers, peer MOE_FROM_CALLER))
    storeRelease(partOf<uint32_t>(peers, offset, peer MOE_FROM_CALLER) + index, epoch MOE_FROM_CALLER);
}

/// One thread: until flag `index` of this rank's part has reached `epoch`, which `peer` gives it. What came may be read
/// by TMA too.
MOE_DEVICE void awaitRank(const Peers *peers, int64_t offset, int64_t index, uint32_t epoch, int64_t peer MOE_CALLER) {
  uint32_t *status = loadGlobal(&peers->status MOE_FROM_CALLER);
  const bool isOwn = isOwnRank(peers, peer MOE_FROM_CALLER);
  if (!isOwn && loadAcquire(status MOE_FROM_CALLER))
    return;
  const uint32_t *flag = ownPart<uint32_t>(peers, offset MOE_FROM_CALLER) + index;
  MOE_AWAITS(flag, epoch, peer);
  const Wait reached = waitCounter(flag, epoch, isOwn ? nullptr : loadGlobal(&peers->abort MOE_FROM_CALLER),
                                   uint64_t(loadGlobal(&peers->patience MOE_FROM_CALLER)) MOE_FROM_CALLER);
  MOE_AWAITS(nullptr, 0, 0);
  // The first of them alone says which flag it was: nobody reads that before the end of the launch.
  if (reached != Wait::Ready && compareExchangeRelease(status, 0, uint32_t(peer) + 1 MOE_FROM_CALLER) == 0)
    storeGlobal(status + 1, uint32_t(index) + 1 MOE_FROM_CALLER);
  fenceProxyAsync();
}

/// What an iteration counts when it arrives. Tiles that share an iteration share this too, so there are at most so many
/// of them; and at most 2^18 iterations arrive at a counter.
constexpr int kArrival = 8192;

/// One thread, which knows what the others have stored: part `part` of `parts` of an iteration has arrived.
MOE_DEVICE void countArrival(int32_t *counter, int part, int parts MOE_CALLER) {
  const int share = (part + 1) * kArrival / parts - part * kArrival / parts;
  addReleaseDevice(reinterpret_cast<uint32_t *>(counter), uint32_t(share) MOE_FROM_CALLER);
}

/// One thread: until as many iterations of this rank's blocks have arrived. They arrive also when a rank is lost, later
/// by one wait; if they do not, the status word names this rank.
MOE_DEVICE void awaitArrivals(const int32_t *counter, int64_t arrivals, const Peers *peers MOE_CALLER) {
  const uint32_t want = uint32_t(arrivals) * uint32_t(kArrival);
  const uint64_t patience = 2 * uint64_t(loadGlobal(&peers->patience MOE_FROM_CALLER));
  if (waitCounter(reinterpret_cast<const uint32_t *>(counter), want, nullptr, patience MOE_FROM_CALLER) != Wait::Ready)
    compareExchangeRelease(loadGlobal(&peers->status MOE_FROM_CALLER), 0,
                           uint32_t(loadGlobal(&peers->rank MOE_FROM_CALLER)) + 1 MOE_FROM_CALLER);
}

/// The same in a program of one rank, where nobody is lost.
MOE_DEVICE void awaitArrivals(const int32_t *counter, int64_t arrivals MOE_CALLER) {
  const uint32_t want = uint32_t(arrivals) * uint32_t(kArrival);
  while (int32_t(loadAcquire(reinterpret_cast<const uint32_t *>(counter) MOE_FROM_CALLER) - want) < 0)
    backOff(MOE_ONLY_FROM_CALLER);
}

} // namespace moe
