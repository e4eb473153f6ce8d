//===- RankProcesses.h - the processes of a job's ranks -----------------------------------------------------------===//
#ifndef MOERT_LAUNCHER_RANKPROCESSES_H
#define MOERT_LAUNCHER_RANKPROCESSES_H

#include "core/Status.h"

#include <string>
#include <vector>

namespace moert {

/// How long ranks that find out that another one has failed have to say so, and to end: nanoseconds.
constexpr int64_t kRanksGrace = 1000000000;

struct RankJob {
  int count = 0;            ///< of the ranks that are started here
  int first = 0, total = 0; ///< the first one of them; how many all hosts have
  std::string root;         ///< HOST:PORT of rank 0; empty: all are here
  std::string executable, token;
  std::string hostName, interface; ///< as given, or empty
  std::vector<int> firsts;         ///< the first rank of each host
  bool readsInput = false;         ///< each rank gets a copy of the standard input
  int64_t patience = 0;            ///< milliseconds that ranks wait for one another
};

/// Starts the ranks and waits for them. Returns in each rank's process, too, where the environment says which one it
/// is; where they were started, `isOver` is set. The outcome is that of the rank that failed first. A second after
/// that, those that still run are killed; so are all if this process is.
Status runRanks(const RankJob &job, bool &isOver);

} // namespace moert

#endif // MOERT_LAUNCHER_RANKPROCESSES_H
