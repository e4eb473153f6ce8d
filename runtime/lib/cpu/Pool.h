//===- Pool.h - worker threads that run the blocks of a launch ----------------------------------------------------===//
//
// A launch costs less than half a microsecond while the workers are hot, so there is no lock and no queue. Thread t
// of n owns the blocks [blocks*t/n, blocks*(t+1)/n) of a launch and takes them one by one from its ticket: launch
// number and blocks left in one 64-bit word. Whoever has nothing left helps others through their tickets. Because a
// ticket carries the launch's number, a thread that wakes up late can only find a newer launch or nothing: a launch is
// over when its blocks are, not when every thread has looked at it.
//
// Waiting threads spin for a while, then offer their core to others, and then sleep on a futex: waking costs tens of
// microseconds on a virtual machine. A worker whose offer is accepted shares its core with somebody, be it a thread of
// another process: it would get its blocks late, and may lose the core with a block in its hands, for which all others
// then wait. So it rests, for longer and longer as long as that happens, and launches do without it. One thread with a
// core to itself is faster than two that wait for each other. A worker that has not even looked at a launch a while
// after the caller is done with its own blocks has no core, either: until it has found that launch or a later one, the
// caller takes its blocks at once and does not wake it again, which would cost each launch more than its blocks.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CPU_POOL_H
#define MOERT_LIB_CPU_POOL_H

#include "core/Status.h"
#include "moert/moert.h"

#include <atomic>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <vector>

namespace moert {

/// Cores that this process may use.
int availableCores();

class Pool {
public:
  Pool() = default;
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;
  ~Pool() { stop(); }

  /// Starts `threads - 1` workers; the thread that calls run() is the remaining one. `pin`: binds thread t to the t-th
  /// core of the affinity mask behind the first `others` (modulo its size), the caller included, until stop().
  Status start(int threads, bool pin, int others = 0);
  void stop();
  int threads() const { return count; }

  /// Runs fn(args, b, blocks) once for each b in [0, blocks). Only one thread may call this at a time.
  void run(moert_kernel_fn fn, const void *args, int64_t blocks);

private:
  // What a launch writes for one thread lies in one cache line: the thread spins on it and then has all it needs.
  struct alignas(128) Slot {
    std::atomic<uint64_t> ticket{0}; // launch number << 32 | own blocks that nobody has taken
    std::atomic<moert_kernel_fn> fn{nullptr};
    std::atomic<const void *> args{nullptr};
    std::atomic<int64_t> blocks{0}; // of the launch
    std::atomic<int64_t> end{0};    // of the own range
    std::atomic<bool> asleep{false};
    std::atomic<bool> resting{false};
    std::atomic<uint32_t> seen{0}; // number of the last launch that the worker has found

    alignas(64) Pool *pool = nullptr;
    int index = 0;
    int core = -1;
    pthread_t thread;
    bool isMissing = false; // the caller's, as the next one: see noteMissing
    uint32_t missed = 0;    // number of the launch that it did not find in time
    int64_t rest = 0; // nanoseconds of the last one
    int64_t restedUntil = 0;
  };

  static void *main(void *slot);
  void work(Slot &own);
  /// Takes and runs blocks of `slot` as long as its ticket shows this launch.
  void drain(Slot &slot, uint32_t launch);
  /// Runs blocks of others after a while: those of resting workers at once, the caller also those of missing ones.
  void help(Slot &own, uint32_t launch);
  void drainOthers(Slot &own, uint32_t launch, bool onlyAway);
  /// Leaves the blocks of the next launches to the others for some time.
  void rest(Slot &own);
  uint32_t waitForLaunch(Slot &own, uint32_t last);
  /// Notes the workers that have not found their launch yet. They have no core, and until they have one, the caller
  /// neither wakes them again nor waits for them to begin. They still get tickets, and so can join a long launch.
  void noteMissing();
  bool isMissing(Slot &slot);
  /// Chooses the caller and at most `most - 1` workers that do not rest. Returns how many `chosen` are.
  int chooseAwake(int most);
  void waitForBlocks();

  int count = 1;
  bool pinned = false;
  cpu_set_t callersCores; // before pinning
  std::unique_ptr<Slot[]> slots;
  std::unique_ptr<int[]> chosen; // indices of slots; the caller's is the first
  uint32_t launch = 0;
  int missing = 0;

  alignas(128) std::atomic<int64_t> open{0}; // blocks that are not done
  std::atomic<uint32_t> finished{0};         // number of the last launch that is done; the caller sleeps on it
  alignas(128) std::atomic<int> sleepers{0};
  std::atomic<bool> callerSleeps{false};
  std::atomic<int> resting{0};
  std::atomic<uint32_t> stopping{0}; // resting workers sleep on it
};

} // namespace moert

#endif // MOERT_LIB_CPU_POOL_H
