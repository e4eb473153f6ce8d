//===- Peers.cpp - bounded waits for other ranks ------------------------------------------------------------------===//

#include "comm/Peers.h"

#include "comm/Deadline.h"

#include <sched.h>

namespace moert {

static bool hasReached(const uint32_t *flag, uint32_t epoch) {
  return static_cast<int32_t>(__atomic_load_n(flag, __ATOMIC_ACQUIRE) - epoch) >= 0;
}

bool await(const Peers &peers, const uint32_t *flag, uint32_t epoch, uint32_t place) {
  // Most flags are there, or come within a microsecond. A core that more ranks than one use is given away soon.
  for (int i = 0; i < 64; ++i) {
    if (hasReached(flag, epoch))
      return true;
    __builtin_ia32_pause();
  }
  for (Deadline deadline(peers.patience); !hasReached(flag, epoch); sched_yield()) {
    if (__atomic_load_n(peers.abort, __ATOMIC_RELAXED) == 0 && !deadline.isOver())
      continue;
    uint32_t none = 0;
    __atomic_compare_exchange_n(peers.status, &none, place, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return false;
  }
  return true;
}

} // namespace moert
