//===- Peers.h - waits for other ranks ----------------------------------------------------------------------------===//
//
// The same for every provider of windows, and on a GPU: a rank stores rows into another one's window, then raises a
// flag there with release; whoever reads them waits for the flag with acquire. Flags hold epochs, which only grow, so
// nothing is reset and comparisons are of signed differences. A wait (moert_await) ends by deadline, by the abort word
// or after another one that failed; then the status word says whom the first one waited for, and nothing that it
// waited for may be read.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_PEERS_H
#define MOERT_LIB_COMM_PEERS_H

#include "core/WaitLog.h"
#include "moert/moert.h"

/// What a rank remembers of its waits for the ranks of an axis.
struct moert_notes {
  /// Where the first wait was that ended without its flag, and its number: valid if `status` says that there was one,
  /// once the launch is over.
  moert::Here late;
  int64_t lateFlag = -1;
  const char *lateLaunch = nullptr; ///< of a GPU, which does not tell `late`: its kernel
  moert::WaitLog *log = nullptr; ///< null: there is no trace
  const int *members = nullptr;  ///< ranks of the job, by rank on the axis
};

namespace moert {

/// Makes `epoch`, and all that this thread has stored before, visible to whoever waits for it.
inline void signal(uint32_t *flag, uint32_t epoch) { __atomic_store_n(flag, epoch, __ATOMIC_RELEASE); }

} // namespace moert

#endif // MOERT_LIB_COMM_PEERS_H
