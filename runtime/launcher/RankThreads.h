//===- RankThreads.h - the ranks of a job as threads of this process ----------------------------------------------===//
#ifndef MOERT_LAUNCHER_RANKTHREADS_H
#define MOERT_LAUNCHER_RANKTHREADS_H

#include "RankProcesses.h"

namespace moert {

/// What a rank does, in a thread of its own.
using RankBody = Status (*)(void *what, int rank);

/// As runRanks(), with threads: their streams are those of the process, or copies, and only the first rank is heard. A
/// rank that cannot be waited for any longer ends with the process.
Status runRankThreads(const RankJob &job, RankBody body, void *what);

} // namespace moert

#endif // MOERT_LAUNCHER_RANKTHREADS_H
