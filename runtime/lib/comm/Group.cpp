//===- Group.cpp - ranks that exchange small things ---------------------------------------------------------------===//

#include "comm/Group.h"

#include <algorithm>
#include <vector>

namespace moert {

Status Group::agree(int64_t value, int64_t &largest) {
  std::vector<int64_t> all(static_cast<size_t>(ranks()));
  if (Status bad = gather(&value, all.data(), sizeof value); bad.failed())
    return bad;
  largest = *std::max_element(all.begin(), all.end());
  return {};
}

Status Group::barrier() {
  int64_t ignored = 0;
  return agree(0, ignored);
}

} // namespace moert
