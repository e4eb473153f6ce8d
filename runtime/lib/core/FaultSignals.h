//===- FaultSignals.h - which signals threads of the runtime leave to others ----------------------------*- C++ -*-===//
#ifndef MOERT_CORE_FAULTSIGNALS_H
#define MOERT_CORE_FAULTSIGNALS_H

#include <signal.h>

namespace moert {

/// All signals but those of faults: blocked, these would end the process without whoever wants to say something of it.
inline sigset_t allButFaults() {
  sigset_t set;
  sigfillset(&set);
  for (int fault : {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP})
    sigdelset(&set, fault);
  return set;
}

} // namespace moert

#endif // MOERT_CORE_FAULTSIGNALS_H
