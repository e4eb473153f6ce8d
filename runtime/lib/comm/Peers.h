//===- Peers.h - what kernels see of the other ranks --------------------------------------------------------------===//
//
// The same for every provider of windows, and on a GPU: a rank stores rows into another one's window, then raises a
// flag there with release; whoever reads them waits for the flag with acquire. Flags hold epochs, which only grow, so
// nothing is reset and comparisons are of signed differences. A wait ends by deadline or by the abort word; then the
// status word says where, and nothing that it waited for may be read.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_PEERS_H
#define MOERT_LIB_COMM_PEERS_H

#include <cstdint>

namespace moert {

/// Plain memory, as programs find it.
struct Peers {
  char *const *base;       ///< each rank's window, at this process's addresses
  int32_t rank, ranks;
  uint32_t *abort;         ///< not 0: a rank is lost, waits end; its number plus one
  uint32_t *status;        ///< not 0: the first wait that ended without its flag, as it called itself
  int64_t patience;        ///< nanoseconds that a wait may take
};

/// Makes `epoch`, and all that this thread has stored before, visible to whoever waits for it.
inline void signal(uint32_t *flag, uint32_t epoch) { __atomic_store_n(flag, epoch, __ATOMIC_RELEASE); }

/// Waits until `flag` has reached `epoch`. False if it has not: then status holds `place` (not 0), unless another wait
/// failed before.
bool await(const Peers &peers, const uint32_t *flag, uint32_t epoch, uint32_t place);

} // namespace moert

#endif // MOERT_LIB_COMM_PEERS_H
