//===- Copy.h - cp.async ------------------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_COPY_H
#define MOE_EMULATION_COPY_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace moe::emulation {

/// The copies of a thread in the order of their groups; the last group is open.
struct CopyQueue {
  struct Copy {
    uint32_t to;
    const void *from;
    uint32_t bytes;
  };
  struct Group {
    std::vector<Copy> copies;
    bool landed = false;
  };
  std::deque<Group> groups = std::deque<Group>(1);
  size_t waited = 0; // groups whose data the thread knows to be there
  bool waiting = false;
};

} // namespace moe::emulation

#endif
