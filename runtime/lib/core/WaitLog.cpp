//===- WaitLog.cpp - what blocks do and wait for, as traces and errors have it ------------------------------------===//

#include "core/WaitLog.h"

#include <sched.h>

namespace moert {

Here &here() {
  static thread_local Here place;
  return place;
}

void WaitLog::add(int peer, int64_t flag, int64_t begin, int64_t end) {
  while (busy.test_and_set(std::memory_order_acquire))
    sched_yield();
  waits.push_back({here(), launch, peer, flag, begin, end});
  busy.clear(std::memory_order_release);
}

} // namespace moert
