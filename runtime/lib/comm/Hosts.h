//===- Hosts.h - which ranks share a host -------------------------------------------------------------------------===//
//
// Ranks share memory if one kernel runs them and they see each other's processes: then they are on one host, whatever
// it is called. A name that was given to them (MOE_HOST_NAME, --host-name) divides them further.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_HOSTS_H
#define MOERT_LIB_COMM_HOSTS_H

#include "comm/Group.h"

#include <string>
#include <vector>

namespace moert {

class Hosts {
public:
  /// All ranks call it; `name` as given to this one, or empty.
  Status find(Group &ranks, const std::string &name);

  /// Without find(): all ranks share a host.
  bool isFar(int rank) const { return !hosts.empty() && hosts[static_cast<size_t>(rank)] != own; }
  bool areMany() const { return many; }
  /// The first rank on this host; how many are there, and how many of them come before `rank`.
  int first() const;
  int count() const;
  int before(int rank) const;

private:
  std::vector<uint64_t> hosts; ///< by rank: what stands for its host; empty without ranks
  uint64_t own = 0;
  bool many = false;
};

} // namespace moert

#endif // MOERT_LIB_COMM_HOSTS_H
