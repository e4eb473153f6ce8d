//===- Flags.h - the table of the executable's flags --------------------------------------------------------------===//

#ifndef MOERT_LAUNCHER_FLAGS_H
#define MOERT_LAUNCHER_FLAGS_H

#include "Options.h"

namespace moert {

/// A flag belongs to one mode, or to all (None). Flags of a mode that select it have `selects` set.
struct Flag {
  const char *name;
  const char *argument; // null: takes none; "[X]": may be left out
  Mode mode;
  bool selects;
  const char *help;
  Status (*set)(Options &options, const char *value);
  bool repeats = false; // may be given more than once
};

/// All flags, in the order of --help.
const std::vector<Flag> &allFlags();

/// A heading of --help, over the flags of one mode.
struct FlagGroup {
  Mode mode;
  const char *title;
};

const std::vector<FlagGroup> &flagGroups();

} // namespace moert

#endif // MOERT_LAUNCHER_FLAGS_H
