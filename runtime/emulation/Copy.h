//===- Copy.h - cp.async ------------------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_COPY_H
#define MOE_EMULATION_COPY_H

#include "Machine.h"

#include <deque>
#include <vector>

namespace moe::emulation {

struct Barrier;

/// The copies of a thread, in batches that land together: those between two commits or asynchronous arrivals. The last
/// batch is open.
struct CopyQueue {
  struct Copy {
    uint32_t to;
    const void *from;
    uint32_t bytes;
  };
  struct Batch {
    std::vector<Copy> copies;
    bool landed = false;
    // The clock slot of the mbarrier that handed the data over, and the epoch there; no slot if none did.
    int slot = -1;
    uint32_t epoch = 0;
  };
  /// An arrival that happens when all batches before `end` have landed.
  struct Arrival {
    Barrier *barrier;
    size_t end;
    Where where;
  };
  std::deque<Batch> batches = std::deque<Batch>(1);
  std::vector<size_t> groups;    // the end of each committed group: a number of batches
  std::deque<Arrival> arrivals;  // that have not happened; they do so in this order
  size_t waited = 0, handed = 0; // batches whose data the thread knows to be there, and those that arrivals covered
  bool waiting = false;

  /// The data of this batch are there, and no arrival is under way that hands them over.
  bool isSettled(size_t batch) const {
    return batches[batch].landed && (arrivals.empty() || arrivals.back().end <= batch || batch < handed);
  }
};

} // namespace moe::emulation

#endif
