//===- Link.cpp - what this rank stores for ranks of other hosts --------------------------------------------------===//

#include "comm/Link.h"

#include "core/Clock.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace moert {

/// What ranks tell each other of their libraries.
struct Link::Outcome {
  int32_t code;
  uint32_t addressBytes;
  char version[16];
  char text[232];
};

static void copyText(char *to, size_t bytes, const std::string &text) {
  std::memcpy(to, text.data(), std::min(text.size(), bytes - 1));
}

Status Link::share(Group &ranks, const Status &opened, const std::string &version, size_t bytes, size_t &most) {
  Outcome mine{opened.code, static_cast<uint32_t>(bytes), {}, {}};
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
      return failure(other.code, "rank %d: %s", rank, other.text);
    if (bytes && !other.addressBytes)
      return failure(kUserError, "rank %d: UCX has no address there", rank);
    if (std::strcmp(other.version, all[0].version) != 0)
      return failure(kUserError, "rank %d has UCX %s, rank 0 %s: they do not understand each other", rank,
                     other.version, all[0].version);
    most = std::max<size_t>(most, other.addressBytes);
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
    if (uint32_t lost = __atomic_load_n(&lostRanks, __ATOMIC_ACQUIRE))
      return failure(kUserError, "UCX cannot reach rank %u from this host: %s", lost - 1, whyLost.c_str());
    if (deadline.isOver())
      return failure(kUserError, "nothing came from rank %zu over UCX in %g s: does a network join the hosts?", rank,
                     static_cast<double>(nanoseconds) / 1e9);
    usleep(200);
  }
  return {};
}

Status Link::open(Group &ranks, const Hosts &hosts, const std::string &interface, uint64_t word, int64_t nanoseconds) {
  own = ranks.rank();
  secret = word;
  Status opened = makeUcxWire(wire);
  if (!opened.failed())
    opened = wire->open(*this, ranks.ranks(), interface);
  bell = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!opened.failed() && !bell.isOpen())
    opened = failure(kUserError, "cannot open an eventfd: %s", std::strerror(errno));
  size_t most = 0;
  bool isFine = !opened.failed();
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
  if (uint32_t lost = __atomic_load_n(&lostRanks, __ATOMIC_ACQUIRE); lost && job)
    job->lost(static_cast<int>(lost) - 1);
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

bool Link::drain(int64_t nanoseconds) {
  for (Deadline deadline(nanoseconds); isRunning && !deadline.isOver(); usleep(50))
    if (std::all_of(outboxes.begin(), outboxes.end(), [](const auto &box) { return !box || box->isEmpty(); }) &&
        __atomic_load_n(&flying, __ATOMIC_ACQUIRE) == 0)
      return true;
  return !isRunning;
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

void *Link::main(void *link) {
  static_cast<Link *>(link)->work();
  return nullptr;
}

void Link::work() {
  constexpr int64_t kSpin = 20000; // nanoseconds
  int64_t idleSince = now(), ticked = idleSince;
  while (!__atomic_load_n(&shallEnd, __ATOMIC_ACQUIRE)) {
    bool did = wire->progress();
    did = sendSome() || did;
    int64_t time = now();
    if (time - ticked > kTickMs * 1000000) {
      ticked = time;
      pthread_mutex_lock(&listening);
      if (listener)
        listener->tick();
      pthread_mutex_unlock(&listening);
    }
    if (did)
      idleSince = time;
    else if (time - idleSince < kSpin)
      sched_yield();
    else
      sleep();
  }
  constexpr int64_t kGrace = 1000000000; // nanoseconds
  finish(Deadline(kGrace));
}

/// A connection that is closed while the other side sends takes with it what that side has not read yet. So this rank
/// stays until the others have read all.
void Link::finish(Deadline deadline) {
  Deed last;
  last.kind = Deed::Leave;
  for (const auto &outbox : outboxes)
    if (outbox)
      outbox->close(last);
  for (bool did = true; !deadline.isOver(); did = wire->progress()) {
    if (!sendSome() && !did)
      sched_yield();
    if (std::all_of(isDone.begin(), isDone.end(), [](char done) { return done; }))
      break;
  }
  sendSome(); // what confirms the others' last boxes
  wire->close(deadline);
}

void Link::sleep() {
  __atomic_store_n(&isAsleep, 1, __ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  bool isIdle = std::all_of(outboxes.begin(), outboxes.end(),
                            [this](const auto &box) { return !box || box->isEmpty() || buffers.empty(); });
  if (isIdle && wire->arm()) {
    pollfd ready[2] = {{bell.descriptor(), POLLIN, 0}, {wire->descriptor(), POLLIN, 0}};
    (void)poll(ready, 2, kTickMs);
  }
  __atomic_store_n(&isAsleep, 0, __ATOMIC_SEQ_CST);
  uint64_t rings;
  (void)!read(bell.descriptor(), &rings, sizeof rings);
}

/// A piece for each rank in turn, as long as there are buffers.
bool Link::sendSome() {
  bool did = false;
  for (size_t tried = 0; tried < outboxes.size() && !buffers.empty(); ++tried) {
    size_t rank = nextRank++ % outboxes.size();
    Outbox *outbox = outboxes[rank].get();
    if (!outbox || outbox->isEmpty())
      continue;
    char *buffer = buffers.back();
    __atomic_add_fetch(&flying, 1, __ATOMIC_RELAXED); // before the outbox is empty
    PackedPiece piece = outbox->pack(buffer, kPieceBytes, own, secret);
    buffers.pop_back();
    did = true;
    tried = 0;
    if (!wire->send(static_cast<int>(rank), buffer, piece.bytes, piece.body, piece.bodyBytes)) {
      wasSent(buffer);
      outbox->shut();
      isDone[rank] = 1;
    }
  }
  return did;
}

void Link::wasSent(char *buffer) {
  buffers.push_back(buffer);
  __atomic_sub_fetch(&flying, 1, __ATOMIC_RELEASE);
}

void Link::came(const char *piece, size_t bytes) {
  PieceHead head;
  if (bytes < sizeof head)
    return;
  std::memcpy(&head, piece, sizeof head);
  // Whoever can connect to this process may send anything.
  if (head.secret != secret || head.from < 0 || static_cast<size_t>(head.from) >= inboxes.size())
    return;
  if (Inbox *inbox = inboxes[static_cast<size_t>(head.from)].get())
    (void)inbox->add(piece, bytes, take, this);
}

bool Link::take(void *argument, const char *piece, size_t bytes) {
  auto &link = *static_cast<Link *>(argument);
  PieceHead head;
  std::memcpy(&head, piece, sizeof head);
  if (!link.windows.unpack(piece, bytes))
    return false;
  auto from = static_cast<size_t>(head.from);
  Deed answer;
  answer.kind = Deed::Confirm;
  if (head.deed.kind == Deed::Leave)
    link.outboxes[from]->close(answer);
  if (head.deed.kind == Deed::Confirm)
    link.isDone[from] = 1;
  if (head.deed.kind != Deed::Abort && head.deed.kind != Deed::Publish)
    return true;
  pthread_mutex_lock(&link.listening);
  if (link.listener && head.deed.kind == Deed::Abort)
    link.listener->aborted(head.from, head.deed.value);
  else if (link.listener)
    link.listener->heard(head.from);
  pthread_mutex_unlock(&link.listening);
  return true;
}

void Link::lost(int rank, const char *why) {
  outboxes[static_cast<size_t>(rank)]->shut();
  isDone[static_cast<size_t>(rank)] = 1;
  if (!lostRanks) {
    whyLost = why;
    __atomic_store_n(&lostRanks, static_cast<uint32_t>(rank) + 1, __ATOMIC_RELEASE);
  }
  pthread_mutex_lock(&listening);
  if (listener)
    listener->lost(rank);
  pthread_mutex_unlock(&listening);
}

} // namespace moert
