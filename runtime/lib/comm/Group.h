//===- Group.h - ranks that exchange small things -----------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_GROUP_H
#define MOERT_LIB_COMM_GROUP_H

#include "core/Status.h"

#include <cstddef>

namespace moert {

/// Every function is called by all ranks of the group, in the same order.
class Group {
public:
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Collects `bytes` bytes of each rank, in the order of ranks, on all ranks. Also a barrier.
  virtual Status gather(const void *mine, void *all, size_t bytes) = 0;

  /// The largest value of all ranks.
  Status agree(int64_t value, int64_t &largest);
  Status barrier();

protected:
  ~Group() = default; // nobody owns a group by this type
};

} // namespace moert

#endif // MOERT_LIB_COMM_GROUP_H
