//===- WindowsApart.cpp - windows of ranks on other hosts ---------------------------------------------------------===//

#include "comm/Peers.h"
#include "comm/Windows.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <utility>

namespace moert {

void Windows::connect(Link &to, uint32_t which, std::vector<int> ranks, int64_t nanoseconds, bool mirrorsAreWritten) {
  link = &to;
  isShown = mirrorsAreWritten;
  number = which;
  members = std::move(ranks);
  patience = nanoseconds;
  apart.windows = this;
  mirrored.clear();
  if (std::none_of(members.begin(), members.end(), [&](int rank) { return to.isFar(rank); }))
    return;
  for (int rank : members)
    mirrored.push_back(to.isFar(rank));
}

/// Pages are taken when something is stored there: of a mirror, that is what this rank sends.
Status Windows::mirror(int rank, size_t bytes) {
  void *base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return failure(kUserError, "cannot have a mirror of the window of rank %d: %s", rank, std::strerror(errno));
  parts[static_cast<size_t>(rank)] = static_cast<char *>(base);
  return {};
}

/// What waits is read from mirrors.
Status Windows::finishSending() {
  int late = mirrored.empty() || !size ? -1 : link->drain(patience);
  if (late < 0)
    return {};
  return failure(kUserError, "what was stored for rank %d was not sent in %g s", late,
                 static_cast<double>(patience) / 1e9);
}

void Windows::stored(int rank, const void *to, size_t bytes) {
  if (!isMirror(rank))
    return;
  auto index = static_cast<size_t>(rank);
  auto offset = static_cast<uint64_t>(static_cast<const char *>(to) - parts[index]);
  if (!link->to(members[index]).add({static_cast<const char *>(to), bytes, {number, opening, offset}, false}))
    return;
  // If the link's thread has no core but this one, it sends now, while the rows are in its cache.
  link->wake();
  sched_yield();
}

void Windows::raise(int rank, uint32_t *flag, uint32_t epoch) {
  if (!isMirror(rank))
    return signal(flag, epoch);
  auto index = static_cast<size_t>(rank);
  auto offset = static_cast<uint64_t>(reinterpret_cast<char *>(flag) - parts[index]);
  link->to(members[index]).close({Deed::Raise, epoch, {number, opening, offset}});
  link->wake();
}

StoredBytes Windows::ownBytes(const void *from, size_t bytes) const {
  auto *begin = static_cast<const char *>(from);
  return {begin, bytes, {number, opening, static_cast<uint64_t>(begin - parts[static_cast<size_t>(own)])}, true};
}

void Windows::show(int rank, const void *from, size_t bytes) {
  if (isMirror(rank))
    link->to(members[static_cast<size_t>(rank)]).add(ownBytes(from, bytes));
}

void Windows::publish(int rank, const void *from, size_t bytes) {
  if (!isMirror(rank))
    return;
  Deed news;
  news.kind = Deed::Publish;
  link->to(members[static_cast<size_t>(rank)]).copy(ownBytes(from, bytes), news);
  link->wake();
}

} // namespace moert

extern "C" {

void moert_stored(const moert_peers *peers, int32_t peer, const void *to, int64_t bytes) {
  peers->hosts->windows->stored(peer, to, static_cast<size_t>(bytes));
}

void moert_raise(const moert_peers *peers, int32_t peer, uint32_t *flag, uint32_t epoch) {
  peers->hosts->windows->raise(peer, flag, epoch);
}

} // extern "C"
