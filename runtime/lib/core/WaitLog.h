//===- WaitLog.h - what blocks do and wait for, as traces and errors have it --------------------------------------===//
//
// Only a group of launches has members and phases, so a thread knows its place in one (Here), and is nowhere otherwise.
// Waits that do not end at once are noted in sessions with a trace; a note costs less than the wait has taken.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_WAITLOG_H
#define MOERT_LIB_CORE_WAITLOG_H

#include <atomic>
#include <cstdint>
#include <vector>

namespace moert {

/// A phase of a group's member, of which a thread runs blocks.
struct Here {
  const char *kernel = nullptr; ///< null: the thread runs no block of a group
  int64_t phase = 0;
  int thread = 0;                     ///< of the group
  std::vector<int> *awaited = nullptr; ///< with a trace: ranks of the job whose flags were awaited
};

/// The calling thread's.
Here &here();

/// Blocks of a phase of a group's member that a thread has run, one after the other.
struct PhaseSpan {
  const char *kernel;
  int64_t phase, phases, blocks, begin, end;
  std::vector<int> awaited; ///< ranks of the job
};

/// A wait that did not end at once.
struct LongWait {
  Here at;
  const char *launch; ///< outside of groups: the kernel of the launch; null: the ranks agreed on something
  int peer;           ///< of the job; -1: arrivals of this rank's blocks
  int64_t flag;       ///< its number in its window; -1: none that has one
  int64_t begin, end;
};

class WaitLog {
public:
  /// Of any thread.
  void add(int peer, int64_t flag, int64_t begin, int64_t end);
  const std::vector<LongWait> &all() const { return waits; }

  /// The kernel of the launch that runs, outside of groups. Set before and after it.
  const char *launch = nullptr;

private:
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::vector<LongWait> waits;
};

} // namespace moert

#endif // MOERT_LIB_CORE_WAITLOG_H
