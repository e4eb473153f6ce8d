//===- Pool.cpp - worker threads that run the blocks of a launch --------------------------------------------------===//

#include "cpu/Pool.h"

#include <climits>
#include <cstring>
#include <immintrin.h>
#include <linux/futex.h>
#include <new>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace moert {

constexpr int kSpins = 2000;
/// Pauses before helping others: as long as a hot worker needs to find its own blocks.
constexpr int kPatience = 30;
constexpr unsigned kDefaultMxcsr = 0x1f80; // round to nearest, denormals kept, exceptions masked

static uint64_t makeTicket(uint32_t launch, int64_t left) {
  return static_cast<uint64_t>(launch) << 32 | static_cast<uint32_t>(left);
}
static uint32_t launchOf(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
static uint32_t leftOf(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

static void futexWait(const void *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
static void futexWake(const void *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

/// The launch number within a ticket, as the futex sees it (little-endian).
static const void *launchWord(const std::atomic<uint64_t> &ticket) {
  return reinterpret_cast<const char *>(&ticket) + 4;
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

Status Pool::start(int threads, bool pin) {
  std::vector<int> list = cores();
  slots.reset(new (std::nothrow) Slot[static_cast<size_t>(threads)]);
  if (!slots)
    return failure(kUserError, "out of memory for %d threads", threads);
  // Signals belong to the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  count = 1;
  for (int t = 0; t < threads; ++t) {
    slots[t].pool = this;
    slots[t].index = t;
    slots[t].core = pin ? list[static_cast<size_t>(t) % list.size()] : -1;
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
  stopping.store(true, std::memory_order_relaxed);
  ++launch;
  for (int t = 1; t < count; ++t) {
    slots[t].ticket.store(makeTicket(launch, 0), std::memory_order_release);
    futexWake(launchWord(slots[t].ticket));
  }
  for (int t = 1; t < count; ++t)
    pthread_join(slots[t].thread, nullptr);
  if (pinned)
    sched_setaffinity(0, sizeof callersCores, &callersCores);
  pinned = false;
  slots.reset();
  count = 1;
  stopping.store(false, std::memory_order_relaxed);
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
    drain(own, last);
    help(own, last);
  }
}

uint32_t Pool::waitForLaunch(Slot &own, uint32_t last) {
  uint32_t seen;
  for (int i = 0; i < kSpins; ++i) {
    if ((seen = launchOf(own.ticket.load(std::memory_order_acquire))) != last)
      return seen;
    _mm_pause();
  }
  // The caller stores the ticket and then reads `sleepers`; this thread does the reverse. One of both sees the other.
  own.asleep.store(true, std::memory_order_relaxed);
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while ((seen = launchOf(own.ticket.load(std::memory_order_seq_cst))) == last)
    futexWait(launchWord(own.ticket), last);
  own.asleep.store(false, std::memory_order_relaxed);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
  return seen;
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

void Pool::help(Slot &own, uint32_t number) {
  for (int i = 0; i < kPatience; ++i) {
    if (launchOf(own.ticket.load(std::memory_order_relaxed)) != number ||
        finished.load(std::memory_order_relaxed) == number)
      return;
    _mm_pause();
  }
  for (int i = 1; i < count; ++i) {
    if (launchOf(own.ticket.load(std::memory_order_relaxed)) != number)
      return;
    drain(slots[(own.index + i) % count], number);
  }
}

void Pool::waitForBlocks() {
  for (int i = 0; i < kPatience; ++i) {
    if (finished.load(std::memory_order_acquire) == launch)
      return;
    _mm_pause();
  }
  help(slots[0], launch);
  for (int i = 0; i < kSpins; ++i) {
    if (finished.load(std::memory_order_acquire) == launch)
      return;
    _mm_pause();
  }
  callerSleeps.store(true, std::memory_order_seq_cst);
  for (uint32_t seen; (seen = finished.load(std::memory_order_seq_cst)) != launch;)
    futexWait(&finished, seen);
  callerSleeps.store(false, std::memory_order_relaxed);
}

void Pool::run(moert_kernel_fn function, const void *arguments, int64_t total) {
  if (count == 1 || total <= 1 || total > UINT32_MAX) {
    for (int64_t b = 0; b < total; ++b)
      function(arguments, b, total);
    return;
  }
  int n = total < count ? static_cast<int>(total) : count;
  ++launch;
  open.store(total, std::memory_order_relaxed);
  for (int t = n - 1; t >= 0; --t) {
    Slot &slot = slots[t];
    int64_t begin = total * t / n, end = total * (t + 1) / n;
    slot.fn.store(function, std::memory_order_relaxed);
    slot.args.store(arguments, std::memory_order_relaxed);
    slot.blocks.store(total, std::memory_order_relaxed);
    slot.end.store(end, std::memory_order_relaxed);
    slot.ticket.store(makeTicket(launch, end - begin), std::memory_order_release);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst); // tickets before `sleepers`: see waitForLaunch
  if (sleepers.load(std::memory_order_relaxed) != 0)
    for (int t = 1; t < n; ++t)
      if (slots[t].asleep.load(std::memory_order_relaxed))
        futexWake(launchWord(slots[t].ticket));
  drain(slots[0], launch);
  waitForBlocks();
}

} // namespace moert
