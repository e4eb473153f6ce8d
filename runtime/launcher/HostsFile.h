//===- HostsFile.h - which ranks each host of a job starts --------------------------------------------------------===//
#ifndef MOERT_LAUNCHER_HOSTSFILE_H
#define MOERT_LAUNCHER_HOSTSFILE_H

#include "core/Status.h"

#include <string>
#include <vector>

namespace moert {

/// The ranks that one host has of a job.
struct HostShare {
  int first = 0, count = 0;
  std::vector<int> firsts; ///< of all hosts
};

/// Finds the ranks of the host called `name` in the text of a file with a line "NAME RANKS" for each host, in the order
/// of ranks, which are `ranks` together. Behind a # stands a comment. `path` is for messages.
Status findShare(const std::string &text, const std::string &path, const std::string &name, int ranks,
                 HostShare &share);

/// The first node that several hosts share, if each has `each` ranks that follow each other; -1: there is none.
int findSharedNode(const std::vector<int> &firsts, int each);

/// What this host is called, up to the first dot.
std::string ownHostName();

} // namespace moert

#endif // MOERT_LAUNCHER_HOSTSFILE_H
