//===- Link.cpp - what this rank stores for ranks of other hosts --------------------------------------------------===//

#include "comm/Link.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace moert {

/// What ranks tell each other of their libraries.
struct Link::Outcome {
  int32_t code;
  uint32_t addressBytes, longest;
  char version[16];
  char text[228];
};

Status Link::share(Group &ranks, const Status &opened, const std::string &version, size_t bytes, size_t &most) {
  Outcome mine{opened.code, static_cast<uint32_t>(bytes), static_cast<uint32_t>(longest), {}, {}};
  copyText(mine.version, sizeof mine.version, version);
  copyText(mine.text, sizeof mine.text, opened.message);
  std::vector<Outcome> all(static_cast<size_t>(ranks.ranks()));
  if (Status bad = ranks.gather(&mine, all.data(), sizeof mine); bad.failed())
    return bad;
  if (opened.failed())
    return opened;
  most = 0;
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    Outcome &other = all[static_cast<size_t>(rank)];
    other.text[sizeof other.text - 1] = other.version[sizeof other.version - 1] = 0;
    if (other.code)
      return failure(other.code == kUnsupported ? kUnsupported : kUserError, "rank %d: %s", rank, other.text);
    if (bytes && !other.addressBytes)
      return failure(kUserError, "rank %d: UCX has no address there", rank);
    if (std::strcmp(other.version, all[0].version) != 0)
      return failure(kUserError, "rank %d has UCX %s, rank 0 %s: they do not understand each other", rank,
                     other.version, all[0].version);
    most = std::max<size_t>(most, other.addressBytes);
    longest = std::max(kPieceBytes, std::min<size_t>(longest, other.longest));
  }
  return {};
}

Status Link::connect(Group &ranks, const Hosts &hosts, size_t most) {
  if (most > size_t(1) << 20)
    return failure(kUserError, "an address of %zu bytes", most);
  std::string mine = wire->address();
  auto bytes = static_cast<uint32_t>(mine.size());
  mine.resize(most);
  mine.append(reinterpret_cast<const char *>(&bytes), sizeof bytes);
  std::vector<char> all(mine.size() * static_cast<size_t>(ranks.ranks()));
  if (Status bad = ranks.gather(mine.data(), all.data(), mine.size()); bad.failed())
    return bad;
  outboxes.resize(static_cast<size_t>(ranks.ranks()));
  inboxes.resize(outboxes.size());
  isDone.assign(outboxes.size(), 1);
  flying.assign(outboxes.size(), 0);
  losses.assign(outboxes.size(), Loss());
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    if (!hosts.isFar(rank))
      continue;
    const char *at = all.data() + static_cast<size_t>(rank) * mine.size();
    std::memcpy(&bytes, at + most, sizeof bytes);
    if (Status bad = wire->connect(rank, std::string(at, std::min<size_t>(bytes, most))); bad.failed())
      return bad;
    outboxes[static_cast<size_t>(rank)].reset(new Outbox);
    inboxes[static_cast<size_t>(rank)].reset(new Inbox);
    isDone[static_cast<size_t>(rank)] = 0;
  }
  return {};
}

/// Whether the hosts can reach each other is found out before anything depends on it.
Status Link::greet(int64_t nanoseconds) {
  for (const auto &outbox : outboxes)
    if (outbox)
      outbox->close(Deed());
  wake();
  Deadline deadline(nanoseconds);
  for (size_t rank = 0; rank < inboxes.size();) {
    if (!inboxes[rank] || inboxes[rank]->count()) {
      ++rank;
      continue;
    }
    if (uint32_t lost = __atomic_load_n(&someLost, __ATOMIC_ACQUIRE))
      return failure(kUserError, "rank %u %s when the hosts met", lost - 1,
                     whyLost(static_cast<int>(lost) - 1).c_str());
    if (deadline.isOver())
      return failure(kUserError, "nothing came from rank %zu over UCX in %g s: does a network join the hosts?", rank,
                     static_cast<double>(nanoseconds) / 1e9);
    usleep(200);
  }
  return {};
}

Status Link::open(Group &ranks, const Hosts &hosts, Status opened, std::unique_ptr<Wire> made,
                  const std::string &interface, uint64_t word, int64_t nanoseconds) {
  own = ranks.rank();
  secret = word;
  wire = std::move(made);
  if (!opened.failed())
    opened = wire->open(*this, ranks.ranks(), interface);
  bell = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!opened.failed() && !bell.isOpen())
    opened = failure(kUserError, "cannot open an eventfd: %s", std::strerror(errno));
  size_t most = 0;
  bool isFine = !opened.failed();
  longest = isFine ? wire->longest() : kPieceBytes;
  if (Status bad = share(ranks, opened, isFine ? wire->version() : "", isFine ? wire->address().size() : 0, most);
      bad.failed())
    return bad;
  Status connected = connect(ranks, hosts, most);
  if (!connected.failed()) {
    memory.reset(new char[kPieceBytes * kBuffers]);
    for (size_t i = 0; i < kBuffers; ++i)
      buffers.push_back(memory.get() + i * kPieceBytes);
    if (int error = pthread_create(&thread, nullptr, main, this))
      connected = failure(kUserError, "cannot start a thread: %s", std::strerror(error));
    isRunning = !connected.failed();
  }
  if (isRunning)
    connected = greet(nanoseconds / 2); // the others may wait for this rank's outcome meanwhile
  Status shared = share(ranks, connected, "", 0, most);
  if (shared.failed())
    close();
  return shared;
}

void Link::listen(Listener *job) {
  pthread_mutex_lock(&listening);
  listener = job;
  for (size_t rank = 0; job && rank < losses.size(); ++rank)
    if (losses[rank].isLost)
      job->lost(static_cast<int>(rank));
  pthread_mutex_unlock(&listening);
}

void Link::wake() {
  // Boxes are there before the word is read; the thread sets it before it looks for them.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (!__atomic_load_n(&isAsleep, __ATOMIC_SEQ_CST))
    return;
  uint64_t one = 1;
  (void)!write(bell.descriptor(), &one, sizeof one);
}

int Link::drain(int64_t nanoseconds) {
  auto isSent = [this](size_t rank) {
    return !outboxes[rank] ||
           (outboxes[rank]->isEmpty() && __atomic_load_n(&flying[rank], __ATOMIC_ACQUIRE) == 0);
  };
  Deadline deadline(nanoseconds);
  for (size_t rank = 0; isRunning && rank < outboxes.size();) {
    if (isSent(rank)) {
      ++rank;
      continue;
    }
    pthread_mutex_lock(&listening);
    bool isEnding = listener && listener->isEnding();
    pthread_mutex_unlock(&listening);
    if (isEnding || deadline.isOver())
      return static_cast<int>(rank);
    usleep(50);
  }
  return -1;
}

std::string Link::whyLost(int rank) const {
  pthread_mutex_lock(&listening);
  std::string how = static_cast<size_t>(rank) < losses.size() ? losses[static_cast<size_t>(rank)].how : "";
  pthread_mutex_unlock(&listening);
  return how.empty() ? "ended, or its host cannot be reached," : how;
}

void Link::close() {
  listen(nullptr);
  if (isRunning) {
    __atomic_store_n(&shallEnd, 1, __ATOMIC_SEQ_CST);
    uint64_t one = 1;
    (void)!write(bell.descriptor(), &one, sizeof one);
    pthread_join(thread, nullptr);
  }
  isRunning = false;
  wire.reset();
}

} // namespace moert
