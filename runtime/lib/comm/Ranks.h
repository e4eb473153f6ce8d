//===- Ranks.h - which rank of which job a process is -------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_RANKS_H
#define MOERT_LIB_COMM_RANKS_H

#include "core/Status.h"

#include <string>

namespace moert {

/// What a process knows of its job before it has met the other ranks.
struct Ranks {
  int rank = 0, ranks = 1;
  std::string host = "127.0.0.1"; ///< where rank 0 listens
  int port = 0;
  bool isLocal = false; ///< all ranks are threads of this process: it needs no place
  int listening = -1;   ///< of rank 0: a socket that listens there already, which it takes over
  std::string token;    ///< what only processes of this job know, or at least what tells it from other jobs
  std::string hostName; ///< ranks of different names share no memory, even on one machine
  std::string interface; ///< the network interface to other hosts; empty: any
  std::string launcher; ///< for messages: "torchrun"; empty for a single process
};

/// Reads a variable of the environment, or returns null.
using ReadVariable = const char *(*)(const char *name);

/// Finds out who this process is. The first launcher whose variables are set counts: our own (MOE_RANK, MOE_RANKS),
/// torchrun, Open MPI's mpirun, srun, and others that speak PMI. MOE_ROOT=HOST:PORT and MOE_TOKEN replace what a
/// launcher says; MOE_LISTEN is the number of a socket with which rank 0 was started, and which listens already. A
/// variable that is no number, or a rank that is not below the number of ranks, is an error.
Status findRanks(ReadVariable read, Ranks &ranks);
/// What MOE_HOST_NAME and MOE_INTERFACE say.
void findHost(ReadVariable read, Ranks &ranks);

/// Sets the place of rank 0 from HOST:PORT.
Status readRoot(const std::string &root, Ranks &ranks);

} // namespace moert

#endif // MOERT_LIB_COMM_RANKS_H
