//===- GroupLaunch.cpp - launches whose blocks run at the same time, and may wait for each other ------------------===//

#include "cpu/GroupLaunch.h"

#include "comm/Deadline.h"

#include <algorithm>

namespace moert {

static thread_local GroupLaunch *running = nullptr;

GroupLaunch *GroupLaunch::current() { return running; }

bool GroupLaunch::run(Pool &pool, const moert_member *members, int32_t count, int64_t nanoseconds, WaitLog *log) {
  steps.clear();
  int64_t last = 0;
  for (int32_t i = 0; i < count; ++i)
    last = std::max(last, members[i].lag + members[i].phases);
  int64_t end = 0;
  for (int64_t position = 0; position < last; ++position)
    for (int32_t i = 0; i < count; ++i)
      if (int64_t phase = position - members[i].lag; phase >= 0 && phase < members[i].phases)
        steps.push_back({&members[i], phase, end += members[i].blocks});
  patience = nanoseconds;
  waits = log;
  if (waits)
    spans.resize(static_cast<size_t>(pool.threads()));
  ticket.store(0, std::memory_order_relaxed);
  isLate.store(false, std::memory_order_relaxed);
  // To the pool a thread of the group is a block, which takes blocks of the group until there are none.
  pool.run(work, this, std::min<int64_t>(pool.threads(), end));
  return !isLate.load(std::memory_order_relaxed);
}

void GroupLaunch::work(const void *self, int64_t thread, int64_t) {
  running = static_cast<GroupLaunch *>(const_cast<void *>(self));
  running->takeBlocks(static_cast<int>(thread));
  running = nullptr;
}

/// The thread begins with blocks of another step. A step that it has no block of leaves no trace of it.
void GroupLaunch::enter(const Step &step, int thread) {
  leave(thread);
  Here &place = here();
  place = {step.member->kernel->name, step.phase, thread, nullptr};
  if (!waits)
    return;
  std::vector<PhaseSpan> &own = spans[static_cast<size_t>(thread)];
  own.push_back({step.member->kernel->name, step.phase, step.member->phases, 0, now(), 0, {}});
  place.awaited = &own.back().awaited;
}

void GroupLaunch::leave(int thread) {
  Here &place = here();
  if (place.awaited)
    spans[static_cast<size_t>(thread)].back().end = now();
  place = Here();
}

void GroupLaunch::takeBlocks(int thread) {
  const Step *step = steps.data(), *behind = step + steps.size(), *entered = nullptr;
  int64_t begin = 0; // of the step
  for (;;) {
    int64_t number = ticket.fetch_add(1, std::memory_order_relaxed);
    for (; step != behind && number >= step->end; ++step)
      begin = step->end;
    if (step == behind)
      return leave(thread);
    if (step != entered)
      enter(*(entered = step), thread);
    const moert_member &member = *step->member;
    member.kernel->fn(member.args, step->phase * member.blocks + number - begin, member.blocks);
    if (waits)
      ++spans[static_cast<size_t>(thread)].back().blocks;
  }
}

static bool hasReached(const int32_t *counter, int64_t arrivals) {
  return __atomic_load_n(counter, __ATOMIC_ACQUIRE) >= arrivals;
}

bool GroupLaunch::await(const int32_t *counter, int64_t arrivals) {
  for (int i = 0; i < 64; ++i) {
    if (hasReached(counter, arrivals))
      return true;
    __builtin_ia32_pause();
  }
  int64_t begin = waits ? now() : 0;
  bool came = true;
  for (Deadline deadline(patience); came && !hasReached(counter, arrivals); sched_yield())
    if (isLate.load(std::memory_order_relaxed) || deadline.isOver()) {
      if (!isLate.exchange(true, std::memory_order_relaxed))
        lateAt = here();
      came = false;
    }
  if (waits)
    waits->add(/*peer=*/-1, /*flag=*/-1, begin, now());
  return came;
}

} // namespace moert

extern "C" int32_t moert_await_arrivals(const int32_t *counter, int64_t arrivals) {
  if (moert::GroupLaunch *group = moert::GroupLaunch::current())
    return group->await(counter, arrivals);
  return moert::hasReached(counter, arrivals);
}
