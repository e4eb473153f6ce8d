//===- JobMemory.cpp - sizes, windows and data that the ranks of a job share --------------------------------------===//

#include "comm/Job.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace moert {

/// Within that the end of a process is seen.
static constexpr int64_t kEndMs = 100;

Status Job::agree(int32_t index, int64_t value, int64_t &largest) {
  ControlGroup &group = axis(index);
  largest = value;
  if (!group.tell(&value, sizeof value))
    return why();
  for (int peer = 0; peer < group.ranks(); ++peer) {
    int64_t other;
    std::memcpy(&other, group.take(peer), sizeof other);
    // A number from outside, which decides on memory: a fault there shall not take this machine's.
    if (other < 0 || static_cast<uint64_t>(other) > memory)
      return failure(kUserError, "rank %d says that it has %lld rows in \"%s\"; this machine has %llu bytes of memory",
                     group.member(peer), static_cast<long long>(other), phase, static_cast<unsigned long long>(memory));
    largest = std::max(largest, other);
  }
  return {};
}

/// Why windows are not there. The files of a process that ends are gone before the watch sees its end.
Status Job::explain(const Status &status) const {
  for (Deadline deadline(kEndMs * 1000000); !isDisturbed() && !deadline.isOver();)
    usleep(1000);
  return isDisturbed() ? why()
                       : failure(status.code, "rank %d was in \"%s\": %s", rank(), phase, status.message.c_str());
}

Status Job::openWindows(int32_t index, size_t bytes) {
  ControlGroup &group = axis(index);
  Windows &opened = *windows[static_cast<size_t>(index)];
  Status status;
  if (bytes > opened.bytes()) {
    if (bytes > memory / static_cast<size_t>(group.ranks())) // all ranks find it alike
      return failure(kUserError, "windows of %zu bytes for each of %d ranks in \"%s\": this machine has %llu bytes of memory",
                     bytes, group.ranks(), phase, static_cast<unsigned long long>(memory));
    status = opened.open(group, bytes);
    group.peers.base = opened.bases();
    group.peers.hosts = opened.hosts();
  } else if (group.epoch >= kLastEpoch) {
    // All ranks have counted alike. Between the two exchanges nobody stores.
    status = group.barrier();
    if (!status.failed()) {
      std::memset(opened.bases()[group.rank()], 0, opened.bytes());
      status = group.barrier();
    }
  } else {
    return {};
  }
  group.epoch = 0;
  return status.failed() ? explain(status) : status;
}

Status Job::collect(ControlGroup &group, const void *mine, const std::vector<uint64_t> &sizes, char *to) {
  uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
  if (largest && !pieces.bytes())
    if (Status s = pieces.open(all(), 2 * kPiece); s.failed())
      return explain(s);
  auto sizeOf = [&](int peer, uint64_t begin) {
    uint64_t size = sizes[static_cast<size_t>(peer)];
    return size > begin ? std::min<uint64_t>(size - begin, kPiece) : 0;
  };
  // Two pieces take turns, so that one exchange per piece is enough: who comes to the next one has read this one.
  char ignored = 0;
  for (uint64_t begin = 0; begin < largest; begin += kPiece) {
    size_t half = begin / kPiece % 2 * kPiece;
    if (uint64_t size = sizeOf(group.rank(), begin)) {
      char *own = pieces.bases()[rank()] + half;
      std::memcpy(own, static_cast<const char *>(mine) + begin, size);
      for (int peer = 0; peer < group.ranks(); ++peer)
        pieces.show(group.member(peer), own, size);
    }
    if (!group.tell(&ignored, sizeof ignored))
      return why();
    char *next = to + begin;
    for (int peer = 0; to && peer < group.ranks(); next += sizes[static_cast<size_t>(peer++)])
      if (uint64_t size = sizeOf(peer, begin))
        std::memcpy(next, pieces.bases()[group.member(peer)] + half, size);
  }
  // The next collection may be of another group.
  return largest && !group.tell(&ignored, sizeof ignored) ? why() : Status();
}

} // namespace moert
