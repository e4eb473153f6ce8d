//===- StartRanks.h - which rank a process is, or the ranks that it starts ----------------------------------------===//
#ifndef MOERT_LAUNCHER_STARTRANKS_H
#define MOERT_LAUNCHER_STARTRANKS_H

#include "Options.h"

namespace moert {

/// Opens a session of the program and works with it, as the options say. `token` is that of a job whose ranks are
/// threads of this process, else null.
using RunRank = Status (*)(const void *what, const Options &options, const char *token);

/// Runs the program as the rank that this process is, if the program has ranks; with --ranks as all of those, in
/// processes or threads of their own, with options and standard streams that are each rank's. The outcome is that of
/// the rank that failed first, without a message if it was said.
Status runAsRanks(const moert_program &program, Options &options, const char *executable, RunRank run,
                  const void *what);

} // namespace moert

#endif // MOERT_LAUNCHER_STARTRANKS_H
