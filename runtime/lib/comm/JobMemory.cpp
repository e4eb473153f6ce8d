//===- JobMemory.cpp - sizes, windows and data that the ranks of a job share --------------------------------------===//

#include "comm/Job.h"

#include <algorithm>
#include <cstring>

namespace moert {

Status Job::agree(int32_t index, int64_t value, int64_t &largest) {
  ControlGroup &group = axis(index);
  largest = value;
  if (!group.tell(&value, sizeof value))
    return why();
  for (int peer = 0; peer < group.ranks(); ++peer) {
    int64_t other;
    std::memcpy(&other, group.take(peer), sizeof other);
    largest = std::max(largest, other);
  }
  return {};
}

Status Job::openWindows(int32_t index, size_t bytes) {
  ControlGroup &group = axis(index);
  Windows &memory = *windows[static_cast<size_t>(index)];
  Status status;
  if (bytes > memory.bytes()) {
    status = memory.open(group, bytes);
    group.peers.base = memory.bases();
  } else if (group.epoch >= kLastEpoch) {
    // All ranks have counted alike. Between the two exchanges nobody stores.
    status = group.barrier();
    if (!status.failed()) {
      std::memset(memory.bases()[group.rank()], 0, memory.bytes());
      status = group.barrier();
    }
  } else {
    return {};
  }
  group.epoch = 0;
  return status.failed() && isDisturbed() ? why() : status;
}

Status Job::collect(ControlGroup &group, const void *mine, const std::vector<uint64_t> &sizes, char *to) {
  uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
  if (largest && !pieces.bytes())
    if (Status s = pieces.open(all(), 2 * kPiece); s.failed())
      return isDisturbed() ? why() : s;
  auto sizeOf = [&](int peer, uint64_t begin) {
    uint64_t size = sizes[static_cast<size_t>(peer)];
    return size > begin ? std::min<uint64_t>(size - begin, kPiece) : 0;
  };
  // Two pieces take turns, so that one exchange per piece is enough: who comes to the next one has read this one.
  char ignored = 0;
  for (uint64_t begin = 0; begin < largest; begin += kPiece) {
    size_t half = begin / kPiece % 2 * kPiece;
    if (uint64_t size = sizeOf(group.rank(), begin))
      std::memcpy(pieces.bases()[rank()] + half, static_cast<const char *>(mine) + begin, size);
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
