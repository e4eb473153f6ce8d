//===- Control.cpp - what the ranks of a job know of each other while a program runs ------------------------------===//

#include "comm/Control.h"

#include <cstring>

namespace moert {

static_assert(sizeof(ControlPage) % alignof(ControlSlot) == 0 && sizeof(ControlSlot) == 64, "slots lie in lines");

void ControlGroup::place(Windows &allPages, size_t behind, const moert_peers &waits) {
  pages = &allPages;
  offset = behind;
  peers = waits;
  peers.rank = own;
  peers.ranks = ranks();
  peers.epoch = &epoch;
  peers.status = &status;
  peers.notes = &notes;
  notes.members = members.data();
}

ControlSlot *ControlGroup::slot(int owner, int sender) const {
  auto *slots = reinterpret_cast<ControlSlot *>(pages->bases()[member(owner)] + offset);
  return slots + (exchange & 1) * members.size() + static_cast<size_t>(sender);
}

bool ControlGroup::tell(const void *mine, size_t bytes) {
  ++exchange;
  for (int peer = 0; peer < ranks(); ++peer) {
    ControlSlot *to = slot(peer, own);
    std::memcpy(to->bytes, mine, bytes);
    pages->stored(member(peer), to->bytes, bytes);
    pages->raise(member(peer), &to->number, exchange);
  }
  for (int peer = 0; peer < ranks(); ++peer)
    if (!moert_await(&peers, &slot(own, peer)->number, exchange, peer, /*number=*/-1))
      return false;
  return true;
}

const void *ControlGroup::take(int peer) const { return slot(own, peer)->bytes; }

Status ControlGroup::gather(const void *mine, void *all, size_t bytes) {
  if (bytes > ControlSlot::kBytes)
    return failure(kInternal, "an exchange of %zu bytes between ranks", bytes);
  // Who asked for the exchange finds out whom it waited for (Job::why).
  if (!tell(mine, bytes))
    return failure(kUserError, "a rank did not answer");
  for (int peer = 0; peer < ranks(); ++peer)
    std::memcpy(static_cast<char *>(all) + static_cast<size_t>(peer) * bytes, take(peer), bytes);
  return {};
}

} // namespace moert
