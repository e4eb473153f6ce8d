//===- GroupLaunch.h - launches whose blocks run at the same time, and may wait for each other --------------------===//
//
// All blocks of a group have one order, and start in it: a free thread takes the next one from a ticket. A block
// may wait for blocks before it, which have started by then, each on a thread that does nothing else until its block is
// done. So the first of those that are not done can always go on, whatever the number of threads.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CPU_GROUPLAUNCH_H
#define MOERT_LIB_CPU_GROUPLAUNCH_H

#include "core/WaitLog.h"
#include "cpu/Pool.h"

#include <vector>

namespace moert {

class GroupLaunch {
public:
  /// Runs all blocks of the members. False if a block waited for arrivals longer than `patience` nanoseconds. With a
  /// log of waits, `spans` says afterwards what each thread has done.
  bool run(Pool &pool, const moert_member *members, int32_t count, int64_t patience, WaitLog *waits = nullptr);
  std::vector<std::vector<PhaseSpan>> spans; ///< by thread

  /// Where the first wait was that took too long, if run() gave false.
  const Here &late() const { return lateAt; }

  /// Of a block of the group that this thread runs a block of: whether `counter` reached `arrivals`.
  bool await(const int32_t *counter, int64_t arrivals);
  /// The group that this thread runs a block of; null if it runs none.
  static GroupLaunch *current();

private:
  /// The blocks of a member's phase.
  struct Step {
    const moert_member *member;
    int64_t phase, end; // number of the block behind the last one, among all of the group
  };

  static void work(const void *self, int64_t thread, int64_t threads);
  void takeBlocks(int thread);
  void enter(const Step &step, int thread);
  void leave(int thread);

  std::vector<Step> steps; // in order; kept, so that a call that repeats allocates nothing
  int64_t patience = 0;
  WaitLog *waits = nullptr;
  alignas(128) std::atomic<int64_t> ticket{0};
  alignas(128) std::atomic<bool> isLate{false};
  Here lateAt;
};

} // namespace moert

#endif // MOERT_LIB_CPU_GROUPLAUNCH_H
