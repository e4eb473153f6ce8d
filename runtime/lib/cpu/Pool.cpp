//===- Pool.cpp - worker threads that run the blocks of a launch --------------------------------------------------===//

#include "cpu/Pool.h"

#include "core/FaultSignals.h"
#include "core/Trace.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <immintrin.h>
#include <linux/futex.h>
#include <new>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace moert {

/// Pauses before helping others: as long as a hot worker needs to find its own blocks.
constexpr int kPatience = 30;
/// Pauses before a waiting thread offers its core to others: longer than hot threads wait for each other, so that a
/// process that has its cores to itself hardly ever asks the system.
constexpr int kSpins = 1000;
/// Offers before it sleeps: some 70 microseconds, where nobody accepts one.
constexpr int kOffers = 150;
/// An offer that lasted longer was accepted: somebody else needs the core. In nanoseconds, as what follows.
constexpr int64_t kAccepted = 10000;
/// How long a worker then leaves its blocks to the others. Doubles from rest to rest, until it could work for
/// kUndisturbed times the last one, and for kSeveralSlices: a worker that shares its core has it for a slice of some
/// milliseconds at a time, which is no sign that it has the core to itself.
constexpr int64_t kShortestRest = 200000, kLongestRest = 128000000, kUndisturbed = 4, kSeveralSlices = 8000000;
constexpr unsigned kDefaultMxcsr = 0x1f80; // round to nearest, denormals kept, exceptions masked

static uint64_t makeTicket(uint32_t launch, int64_t left) {
  return static_cast<uint64_t>(launch) << 32 | static_cast<uint32_t>(left);
}
static uint32_t launchOf(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
static uint32_t leftOf(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

static void futexWait(const void *word, uint32_t value, const timespec *limit = nullptr) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, limit, nullptr, 0);
}
static void futexWake(const void *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

/// The launch number within a ticket, as the futex sees it (little-endian).
static const void *launchWord(const std::atomic<uint64_t> &ticket) {
  return reinterpret_cast<const char *>(&ticket) + 4;
}

enum class Wait { Over, InVain, OthersNeedTheCore };

/// Waits for a condition for a bounded amount of work.
///
/// A thread that spins on a core holds up whoever else needs it, and that may be the thread that it waits for: the
/// scheduler lets it spin until its time is over, some thousand launches later. So it soon offers the core, again and
/// again, which costs nothing that matters where nobody wants it.
template <typename Condition> static Wait waitAwake(Condition holds) {
  for (int i = 0; i < kSpins; ++i) {
    if (holds())
      return Wait::Over;
    _mm_pause();
  }
  for (int i = 0; i < kOffers; ++i) {
    int64_t begin = now();
    sched_yield();
    if (holds())
      return Wait::Over;
    if (now() - begin > kAccepted)
      return Wait::OthersNeedTheCore;
  }
  return Wait::InVain;
}

/// CPUs of the affinity mask, in order.
static std::vector<int> cores() {
  std::vector<int> list;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int c = 0; c < CPU_SETSIZE; ++c)
      if (CPU_ISSET(c, &set))
        list.push_back(c);
  if (list.empty())
    list.push_back(0);
  return list;
}

static void pinTo(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set); // of the calling thread; a refusal costs speed only
}

int availableCores() { return static_cast<int>(cores().size()); }

Status Pool::start(int threads, bool pin, int others) {
  std::vector<int> list = cores();
  slots.reset(new (std::nothrow) Slot[static_cast<size_t>(threads)]);
  chosen.reset(new (std::nothrow) int[static_cast<size_t>(threads)]());
  if (!slots || !chosen)
    return failure(kUserError, "out of memory for %d threads", threads);
  // Signals belong to the program's own threads.
  sigset_t all = allButFaults(), before;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  count = 1;
  for (int t = 0; t < threads; ++t) {
    slots[t].pool = this;
    slots[t].index = t;
    slots[t].core = pin ? list[static_cast<size_t>(others + t) % list.size()] : -1;
  }
  for (int t = 1; t < threads && !error; ++t) {
    error = pthread_create(&slots[t].thread, nullptr, main, &slots[t]);
    count += error == 0;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) {
    int started = count;
    stop();
    return failure(kUserError, "cannot start thread %d of %d: %s", started, threads, strerror(error));
  }
  pinned = pin && sched_getaffinity(0, sizeof callersCores, &callersCores) == 0;
  if (pinned)
    pinTo(slots[0].core);
  return {};
}

void Pool::stop() {
  if (!slots)
    return;
  stopping.store(1, std::memory_order_relaxed);
  ++launch;
  for (int t = 1; t < count; ++t) {
    slots[t].ticket.store(makeTicket(launch, 0), std::memory_order_release);
    futexWake(launchWord(slots[t].ticket));
    futexWake(&stopping); // one that rests; the others have found their launch
  }
  for (int t = 1; t < count; ++t)
    pthread_join(slots[t].thread, nullptr);
  if (pinned)
    sched_setaffinity(0, sizeof callersCores, &callersCores);
  pinned = false;
  slots.reset();
  count = 1;
  missing = 0;
  stopping.store(0, std::memory_order_relaxed);
}

void *Pool::main(void *slot) {
  Slot &own = *static_cast<Slot *>(slot);
  if (own.core >= 0)
    pinTo(own.core);
  _mm_setcsr(kDefaultMxcsr);
  own.pool->work(own);
  return nullptr;
}

void Pool::work(Slot &own) {
  for (uint32_t last = 0;;) {
    last = waitForLaunch(own, last);
    if (stopping.load(std::memory_order_relaxed))
      return;
    own.seen.store(last, std::memory_order_relaxed);
    drain(own, last);
    help(own, last);
  }
}

uint32_t Pool::waitForLaunch(Slot &own, uint32_t last) {
  uint32_t seen;
  auto launched = [&] { return (seen = launchOf(own.ticket.load(std::memory_order_acquire))) != last; };
  Wait outcome;
  while ((outcome = waitAwake(launched)) == Wait::OthersNeedTheCore)
    rest(own);
  if (outcome == Wait::Over)
    return seen;
  // The caller stores the ticket and then, behind a fence, reads `sleepers`; this thread adds to `sleepers` and then
  // reads the ticket. All are ordered with each other (seq_cst), so one of both sees the other. If this thread sees the
  // ticket, it does not sleep. If the caller sees the sleeper, then by acquiring it also `asleep`, and it wakes this
  // thread after it stored the ticket: the system compares the launch number with `last` under the lock that a waking
  // takes, so that this thread either finds the new number there or is woken. A wakening that comes late, or twice,
  // only makes it look at the ticket again.
  own.asleep.store(true, std::memory_order_relaxed);
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while ((seen = launchOf(own.ticket.load(std::memory_order_seq_cst))) == last)
    futexWait(launchWord(own.ticket), last);
  own.asleep.store(false, std::memory_order_relaxed);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
  return seen;
}

void Pool::rest(Slot &own) {
  const int64_t worked = now() - own.restedUntil;
  const bool undisturbed = worked > std::max(kUndisturbed * own.rest, kSeveralSlices);
  own.rest = undisturbed ? kShortestRest : std::min(std::max(2 * own.rest, kShortestRest), kLongestRest);
  // A launch that is over at once, without a ticket for this thread, or with one whose blocks others take: all of them
  // are as good. The flag and the number are hints, and need no order.
  timespec limit = {0, own.rest};
  own.resting.store(true, std::memory_order_relaxed);
  resting.fetch_add(1, std::memory_order_relaxed);
  futexWait(&stopping, 0, &limit);
  resting.fetch_sub(1, std::memory_order_relaxed);
  own.resting.store(false, std::memory_order_relaxed);
  own.restedUntil = now();
}

void Pool::drain(Slot &slot, uint32_t number) {
  uint64_t ticket = slot.ticket.load(std::memory_order_acquire);
  while (launchOf(ticket) == number && leftOf(ticket) != 0) {
    // What is read here may belong to a newer launch. It is not used unless the exchange succeeds, which proves that
    // this launch still had a block that nobody had taken, and so that it was not over.
    moert_kernel_fn function = slot.fn.load(std::memory_order_relaxed);
    const void *arguments = slot.args.load(std::memory_order_relaxed);
    int64_t total = slot.blocks.load(std::memory_order_relaxed);
    int64_t end = slot.end.load(std::memory_order_relaxed);
    if (!slot.ticket.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    function(arguments, end - leftOf(ticket), total);
    if (open.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      finished.store(number, std::memory_order_seq_cst);
      if (callerSleeps.load(std::memory_order_seq_cst))
        futexWake(&finished);
      return;
    }
    ticket = slot.ticket.load(std::memory_order_acquire);
  }
}

void Pool::drainOthers(Slot &own, uint32_t number, bool onlyAway) {
  for (int i = 1; i < count; ++i) {
    if (launchOf(own.ticket.load(std::memory_order_relaxed)) != number)
      return;
    Slot &other = slots[(own.index + i) % count];
    // Who is missing is the caller's to know.
    if (!onlyAway || other.resting.load(std::memory_order_relaxed) || (own.index == 0 && isMissing(other)))
      drain(other, number);
  }
}

void Pool::help(Slot &own, uint32_t number) {
  if (resting.load(std::memory_order_relaxed) != 0)
    drainOthers(own, number, /*onlyAway=*/true);
  for (int i = 0; i < kPatience; ++i) {
    if (launchOf(own.ticket.load(std::memory_order_relaxed)) != number ||
        finished.load(std::memory_order_relaxed) == number)
      return;
    _mm_pause();
  }
  drainOthers(own, number, /*onlyAway=*/false);
}

void Pool::waitForBlocks() {
  auto done = [&] { return finished.load(std::memory_order_acquire) == launch; };
  if (missing != 0 || resting.load(std::memory_order_relaxed) != 0)
    drainOthers(slots[0], launch, /*onlyAway=*/true);
  // Twice a worker's patience: the caller knows of the launch, and so is done, before the others. It looks at nothing
  // but `finished` meanwhile: each line of memory that two threads look at costs as much as a small block.
  for (int i = 0; i < 2 * kPatience; ++i) {
    if (done())
      return;
    _mm_pause();
  }
  noteMissing();
  drainOthers(slots[0], launch, /*onlyAway=*/false);
  Wait outcome;
  while ((outcome = waitAwake(done)) == Wait::OthersNeedTheCore) {
  }
  if (outcome == Wait::Over)
    return;
  // Whoever ends the launch stores `finished` and then reads `callerSleeps`; this is the reverse, all of it seq_cst:
  // one of both sees the other, and the system compares `finished` as it compares a launch number above.
  callerSleeps.store(true, std::memory_order_seq_cst);
  for (uint32_t seen; (seen = finished.load(std::memory_order_seq_cst)) != launch;)
    futexWait(&finished, seen);
  callerSleeps.store(false, std::memory_order_relaxed);
}

void Pool::noteMissing() {
  for (int t = 1; t < count; ++t) {
    Slot &slot = slots[t];
    const bool hasTicket = launchOf(slot.ticket.load(std::memory_order_relaxed)) == launch;
    if (!hasTicket || slot.isMissing || slot.seen.load(std::memory_order_relaxed) == launch)
      continue;
    slot.isMissing = true;
    slot.missed = launch;
    ++missing;
  }
}

bool Pool::isMissing(Slot &slot) {
  // Numbers wrap around. A worker that has found any launch since then has a core again.
  if (slot.isMissing && static_cast<int32_t>(slot.seen.load(std::memory_order_relaxed) - slot.missed) >= 0) {
    slot.isMissing = false;
    --missing;
  }
  return slot.isMissing;
}

int Pool::chooseAwake(int most) {
  int n = 1;
  for (int t = 1; t < count && n < most; ++t)
    if (!slots[t].resting.load(std::memory_order_relaxed))
      chosen[n++] = t;
  return n;
}

void Pool::run(moert_kernel_fn function, const void *arguments, int64_t total) {
  int n = total < count ? static_cast<int>(total) : count;
  bool someRest = count > 1 && resting.load(std::memory_order_relaxed) != 0;
  if (someRest)
    n = chooseAwake(n);
  if (n <= 1 || total > UINT32_MAX) {
    for (int64_t b = 0; b < total; ++b)
      function(arguments, b, total);
    return;
  }
  auto slotOf = [&](int i) -> Slot & { return slots[someRest ? chosen[i] : i]; };
  ++launch;
  open.store(total, std::memory_order_relaxed);
  for (int i = n - 1; i >= 0; --i) {
    Slot &slot = slotOf(i);
    int64_t begin = total * i / n, end = total * (i + 1) / n;
    slot.fn.store(function, std::memory_order_relaxed);
    slot.args.store(arguments, std::memory_order_relaxed);
    slot.blocks.store(total, std::memory_order_relaxed);
    slot.end.store(end, std::memory_order_relaxed);
    slot.ticket.store(makeTicket(launch, end - begin), std::memory_order_release);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst); // tickets before `sleepers`: see waitForLaunch
  if (sleepers.load(std::memory_order_acquire) != 0)
    for (int i = 1; i < n; ++i)
      if (slotOf(i).asleep.load(std::memory_order_relaxed) && !isMissing(slotOf(i)))
        futexWake(launchWord(slotOf(i).ticket));
  drain(slots[0], launch);
  waitForBlocks();
}

} // namespace moert
