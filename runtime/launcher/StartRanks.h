//===- StartRanks.h - which rank a process is, or the ranks that it starts ----------------------------------------===//
#ifndef MOERT_LAUNCHER_STARTRANKS_H
#define MOERT_LAUNCHER_STARTRANKS_H

#include "Options.h"

namespace moert {

/// Makes this process a rank of the program, if it has ranks: one that a launcher started, or with --ranks one of those
/// that are started here, `options` and the standard streams being then those of the rank. In the process that has
/// started them, `isOver` is set when they have ended, and the outcome is theirs, without a message if it was said.
Status becomeRank(const moert_program &program, Options &options, const char *executable, bool &isOver);

} // namespace moert

#endif // MOERT_LAUNCHER_STARTRANKS_H
