//===- LinkThread.cpp - the thread that owns the wire to ranks of other hosts -------------------------------------===//

#include "comm/Link.h"

#include "core/Clock.h"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

namespace moert {

void *Link::main(void *link) {
  static_cast<Link *>(link)->work();
  return nullptr;
}

void Link::work() {
  constexpr int64_t kSpin = 20000; // nanoseconds
  int64_t idleSince = now(), ticked = idleSince;
  while (!__atomic_load_n(&shallEnd, __ATOMIC_ACQUIRE)) {
    // In this order, as the other side may wait for what goes, and to receive what has come takes time.
    bool did = sendSome();
    did = wire->progress() || did;
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

/// Whether there is a piece for a rank, which is not too far in front of the first one that is not sent.
bool Link::mayBeSent(size_t rank) const {
  const Outbox *outbox = outboxes[rank].get();
  return outbox && !outbox->isEmpty() && std::all_of(flights, flights + kBuffers, [&](const Flight &flight) {
           return flight.rank != static_cast<int>(rank) || outbox->number() - flight.number < kMostEarly;
         });
}

/// A piece for each rank in turn, as long as there are buffers.
bool Link::sendSome() {
  bool did = false;
  for (size_t tried = 0; tried < outboxes.size() && !buffers.empty(); ++tried) {
    size_t rank = nextRank++ % outboxes.size();
    Outbox *outbox = outboxes[rank].get();
    if (!mayBeSent(rank))
      continue;
    char *buffer = buffers.back();
    buffers.pop_back();
    flights[static_cast<size_t>(buffer - memory.get()) / kPieceBytes] = {static_cast<int>(rank), outbox->number()};
    __atomic_add_fetch(&flying[rank], 1, __ATOMIC_RELAXED); // before the outbox is empty
    PackedPiece piece = outbox->pack(buffer, kPieceBytes, longest, own, secret);
    did = true;
    tried = 0;
    if (!wire->send(static_cast<int>(rank), buffer, piece)) {
      wasSent(buffer);
      outbox->shut();
      isDone[rank] = 1;
    }
  }
  return did;
}

void Link::wasSent(char *buffer) {
  buffers.push_back(buffer);
  Flight &flight = flights[static_cast<size_t>(buffer - memory.get()) / kPieceBytes];
  __atomic_sub_fetch(&flying[static_cast<size_t>(flight.rank)], 1, __ATOMIC_RELEASE);
  flight.rank = -1;
}

void Link::came(const CamePiece &piece) {
  PieceHead head;
  if (piece.bytes < sizeof head)
    return;
  std::memcpy(&head, piece.data, sizeof head);
  // Whoever can connect to this process may send anything.
  if (head.secret != secret || head.from < 0 || static_cast<size_t>(head.from) >= inboxes.size())
    return;
  Inbox *inbox = inboxes[static_cast<size_t>(head.from)].get();
  if (inbox && !inbox->add(piece, take, this))
    lose(head.from, "sent what makes no sense");
}

bool Link::take(void *argument, const CamePiece &piece) {
  auto &link = *static_cast<Link *>(argument);
  PieceHead head;
  std::memcpy(&head, piece.data, sizeof head);
  if (!link.windows.unpack(piece))
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

void Link::lost(int rank, const char *why) { lose(rank, format("ended, or its host cannot be reached (%s),", why)); }

/// Of the ways in which a rank is lost the first one counts.
void Link::lose(int rank, const std::string &how) {
  outboxes[static_cast<size_t>(rank)]->shut();
  isDone[static_cast<size_t>(rank)] = 1;
  pthread_mutex_lock(&listening);
  Loss &loss = losses[static_cast<size_t>(rank)];
  if (!loss.isLost) {
    loss = {true, how};
    if (listener)
      listener->lost(rank);
  }
  pthread_mutex_unlock(&listening);
  uint32_t none = 0;
  __atomic_compare_exchange_n(&someLost, &none, static_cast<uint32_t>(rank) + 1, false, __ATOMIC_RELEASE,
                              __ATOMIC_RELAXED);
}

} // namespace moert
