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

/// The first wait without its flag says where it was.
static void fail(const moert_peers &peers, int32_t peer, int64_t number) {
  uint32_t none = 0;
  bool isFirst = __atomic_compare_exchange_n(peers.status, &none, static_cast<uint32_t>(peer) + 1, false,
                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  if (isFirst && peers.notes) {
    peers.notes->late = here();
    peers.notes->lateFlag = number;
  }
}

/// Most flags come within a microsecond, of which no trace is worth its time. A core that more ranks than one use is
/// given away soon.
static __attribute__((noinline)) bool wait(const moert_peers &peers, const uint32_t *flag, uint32_t epoch, int32_t peer,
                                           int64_t number) {
  for (int i = 0; i < 64; ++i) {
    __builtin_ia32_pause();
    if (hasReached(flag, epoch))
      return true;
  }
  WaitLog *log = peers.notes ? peers.notes->log : nullptr;
  int64_t begin = log ? now() : 0;
  setWait(peers, static_cast<uint32_t>(peer) + 1);
  bool came = true;
  for (Deadline deadline(peers.patience); came && !hasReached(flag, epoch); sched_yield())
    came = !__atomic_load_n(peers.abort, __ATOMIC_RELAXED) && !__atomic_load_n(peers.status, __ATOMIC_RELAXED) &&
           !deadline.isOver();
  if (came)
    setWait(peers, 0); // else it still waits, for those who ask
  else
    fail(peers, peer, number);
  if (log)
    log->add(peers.notes->members[peer], number, begin, now());
  return came;
}

/// A thread of a group whose spans are noted awaits a flag of that rank.
static __attribute__((noinline)) void noteAwaited(int rank) {
  std::vector<int> *awaited = here().awaited;
  if (awaited && std::find(awaited->begin(), awaited->end(), rank) == awaited->end())
    awaited->push_back(rank);
}

} // namespace moert

extern "C" int32_t moert_await(const moert_peers *peers, const uint32_t *flag, uint32_t epoch, int32_t peer,
                               int64_t number) {
  if (peers->notes && peers->notes->log)
    moert::noteAwaited(peers->notes->members[peer]);
  return moert::hasReached(flag, epoch) || moert::wait(*peers, flag, epoch, peer, number);
}
