//===- LinkOwner.cpp - who owns the wire to ranks of other hosts --------------------------------------------------===//
//
// The link's thread, or one that waits for a flag and has little on its way: no other thread has to be given the core
// first. The link's thread stands aside meanwhile. It comes back by itself a millisecond later, and is called where
// there is something to do.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "comm/Link.h"

#include <algorithm>
#include <poll.h>
#include <unistd.h>

namespace moert {

void Link::ring() {
  uint64_t one = 1;
  (void)!write(bell.descriptor(), &one, sizeof one);
}

bool Link::isSent(size_t rank) const {
  return !outboxes[rank] || (outboxes[rank]->isEmpty() && __atomic_load_n(&flying[rank], __ATOMIC_ACQUIRE) == 0);
}

bool Link::isAllSent() const {
  for (size_t rank = 0; rank < outboxes.size(); ++rank)
    if (!isSent(rank))
      return false;
  return true;
}

Carrier::Help Link::help() {
  if (pthread_mutex_trylock(&owning))
    return kBusy;
  bool did = wire->progress();
  did = sendSome() || did;
  pthread_mutex_unlock(&owning);
  return did ? kDid : kIdle;
}

/// Sends a few pieces, if nobody else is at it. Whether nothing is left, nor on its way.
bool Link::sendNow() {
  constexpr size_t kFew = 6;
  if (pthread_mutex_trylock(&owning))
    return false;
  sendSome(kFew);
  pthread_mutex_unlock(&owning);
  return isAllSent();
}

// Boxes are there before these words are read. Whoever sets them looks for boxes then: the link's thread before it
// sleeps, and one that has helped behind its wait.
void Link::wake() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (__atomic_load_n(&helpers, __ATOMIC_SEQ_CST) || !__atomic_load_n(&isAsleep, __ATOMIC_SEQ_CST))
    return;
  if (!sendNow())
    ring();
}

bool Link::beginWait() {
  if (!isAllSent())
    return false;
  __atomic_add_fetch(&helpers, 1, __ATOMIC_SEQ_CST);
  return true;
}

void Link::endWait(bool goesOn) {
  __atomic_sub_fetch(&helpers, 1, __ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (goesOn || !isAllSent())
    ring();
}

void Link::sleepOn(bool withWire, int milliseconds) {
  pollfd ready[2] = {{bell.descriptor(), POLLIN, 0}, {wire->descriptor(), POLLIN, 0}};
  (void)poll(ready, withWire ? 2 : 1, milliseconds);
}

/// Whether nothing is to be done, and the wire's descriptor will tell when there is.
bool Link::mayArm() {
  if (pthread_mutex_trylock(&owning))
    return false;
  bool isIdle = std::all_of(outboxes.begin(), outboxes.end(),
                            [this](const auto &box) { return !box || box->isEmpty() || buffers.empty(); }) &&
                wire->arm();
  pthread_mutex_unlock(&owning);
  return isIdle;
}

void Link::sleep() {
  __atomic_store_n(&isAsleep, 1, __ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (__atomic_load_n(&helpers, __ATOMIC_SEQ_CST))
    sleepOn(/*withWire=*/false, 1);
  else if (mayArm())
    sleepOn(/*withWire=*/true, kTickMs);
  __atomic_store_n(&isAsleep, 0, __ATOMIC_SEQ_CST);
  uint64_t rings;
  (void)!read(bell.descriptor(), &rings, sizeof rings);
}

} // namespace moert
