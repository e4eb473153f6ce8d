//===- Peers.cpp - bounded waits for other ranks ------------------------------------------------------------------===//

#include "comm/Peers.h"

#include "comm/Deadline.h"

#include <algorithm>
#include <sched.h>

namespace moert {

static bool hasReached(const uint32_t *flag, uint32_t epoch) {
  return static_cast<int32_t>(__atomic_load_n(flag, __ATOMIC_ACQUIRE) - epoch) >= 0;
}

static void setWait(const moert_peers &peers, uint32_t whom) {
  if (peers.waits)
    __atomic_store_n(peers.waits, whom, __ATOMIC_RELAXED);
}

/// Most flags come within a microsecond. A core that more ranks than one use is given away soon.
static __attribute__((noinline)) bool wait(const moert_peers &peers, const uint32_t *flag, uint32_t epoch, int32_t peer,
                                           int64_t number) {
  for (int i = 0; i < 64; ++i) {
    __builtin_ia32_pause();
    if (hasReached(flag, epoch))
      return true;
  }
  setWait(peers, static_cast<uint32_t>(peer) + 1);
  for (Deadline deadline(peers.patience); !hasReached(flag, epoch); sched_yield()) {
    bool ends = __atomic_load_n(peers.abort, __ATOMIC_RELAXED) || __atomic_load_n(peers.status, __ATOMIC_RELAXED);
    if (!ends && !deadline.isOver())
      continue;
    uint32_t none = 0;
    bool isFirst = __atomic_compare_exchange_n(peers.status, &none, static_cast<uint32_t>(peer) + 1, false,
                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (isFirst && peers.notes) {
      peers.notes->late = here();
      peers.notes->lateFlag = number;
    }
    return false; // and still waits, for those who ask
  }
  setWait(peers, 0);
  return true;
}

/// A wait in a session with a trace.
static __attribute__((noinline)) bool noted(const moert_peers &peers, const uint32_t *flag, uint32_t epoch,
                                            int32_t peer, int64_t number) {
  const moert_notes &notes = *peers.notes;
  if (std::vector<int> *awaited = here().awaited)
    if (int rank = notes.members[peer]; std::find(awaited->begin(), awaited->end(), rank) == awaited->end())
      awaited->push_back(rank);
  if (hasReached(flag, epoch))
    return true;
  int64_t begin = now();
  bool came = wait(peers, flag, epoch, peer, number);
  notes.log->add(notes.members[peer], number, begin, now());
  return came;
}

} // namespace moert

extern "C" int32_t moert_await(const moert_peers *peers, const uint32_t *flag, uint32_t epoch, int32_t peer,
                               int64_t number) {
  if (peers->notes && peers->notes->log)
    return moert::noted(*peers, flag, epoch, peer, number);
  return moert::hasReached(flag, epoch) || moert::wait(*peers, flag, epoch, peer, number);
}
