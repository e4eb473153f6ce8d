//===- Copy.cpp - cp.async ----------------------------------------------------------------------------------------===//
//
// Until its thread has waited for it, or an asynchronous arrival has handed it over, a copy is in flight: the target is
// NaN or already the data, and nobody may touch it. From the wait on it counts as an ordinary store of that thread,
// made at that moment. From the arrival on it is known to those who have waited for the mbarrier, and to nobody else:
// the issuing thread has to wait too, and what else it has written is not handed over.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Copy.h"

#include "State.h"

#include <cstring>

namespace moe::emulation {

void copyAsync(uint32_t to, const void *from, uint32_t bytes, Where where) {
  Thread &t = self();
  SharedMemory &shared = t.block->shared;
  requireShared(to, 16, "asynchronous copy", where);
  if (to % 16)
    fail("asynchronous copy to " + hex(to) + ", which is not at a multiple of 16 bytes", where);
  if (bytes > 16)
    fail("asynchronous copy of " + std::to_string(bytes) + " of 16 bytes", where);
  if (reinterpret_cast<uintptr_t>(from) % 16)
    fail("asynchronous copy from an address that is not a multiple of 16", where);
  if (bytes)
    checkGlobalRead(from, bytes, "asynchronous copy", where);
  Granule &granule = shared.granule(to);
  OverwriteCheck(false, where)(granule, to);
  granule.copying = true;
  memset(shared.at(to), 0xff, 16);
  t.copies.batches.back().copies.push_back({to, from, bytes});
}

static void land(Thread &t, CopyQueue::Batch &batch) {
  if (batch.landed)
    return;
  for (const CopyQueue::Copy &copy : batch.copies) {
    unsigned char *to = t.block->shared.at(copy.to);
    memset(to, 0, 16);
    if (copy.bytes) // a copy of nothing may come from nowhere
      memcpy(to, copy.from, copy.bytes);
  }
  batch.landed = true;
}

/// From now on the last writes to the targets are these.
static void finish(Thread &t, CopyQueue::Batch &batch, SharedWord write) {
  for (const CopyQueue::Copy &copy : batch.copies) {
    Granule &granule = t.block->shared.granule(copy.to);
    granule.copying = false;
    for (SharedWord &word : granule.words)
      word = write;
  }
  batch.copies = {};
}

static void wakeWaiting(Thread &t) {
  if (t.copies.waiting)
    machine->wake(&t);
}

void commitCopies() {
  Thread &t = self();
  CopyQueue &queue = t.copies;
  const size_t number = queue.batches.size() - 1;
  queue.batches.emplace_back();
  queue.groups.push_back(number + 1);
  if (queue.batches[number].copies.empty()) {
    queue.batches[number].landed = true;
    return;
  }
  machine->later([&t, number] {
    land(t, t.copies.batches[number]);
    wakeWaiting(t);
  });
}

/// The first arrival of the thread that has not happened does.
static void happenArrival(Thread &t) {
  CopyQueue &queue = t.copies;
  const CopyQueue::Arrival arrival = queue.arrivals.front();
  queue.arrivals.pop_front();
  Barrier &barrier = *arrival.barrier;
  const int slot = barrier.copySlot;
  ++barrier.copyEpoch;
  for (; queue.handed < arrival.end; ++queue.handed) {
    CopyQueue::Batch &batch = queue.batches[queue.handed];
    land(t, batch);
    if (queue.handed < queue.waited)
      continue; // ordinary stores of the thread by now
    finish(t, batch, {SharedWord::Copied, int16_t(slot), barrier.copyEpoch});
    batch.slot = slot;
    batch.epoch = barrier.copyEpoch;
  }
  barrier.current.seen.raise(t.block->id, slot, barrier.copyEpoch);
  wakeWaiting(t);
  if (barrier.pending == 0)
    return fault(tooManyArrivals(barrier), &t, &arrival.where);
  --barrier.pending;
  settle(barrier);
}

void arriveWhenCopied(uint32_t address, Where where) {
  maybeSwitch();
  Thread &t = self();
  CopyQueue &queue = t.copies;
  Barrier &barrier = barrierAt(address, where);
  if (barrier.copySlot < 0)
    barrier.copySlot = takeBarrierSlot(where);
  queue.arrivals.push_back({&barrier, queue.batches.size(), where});
  queue.batches.emplace_back();
  machine->later([&t] { happenArrival(t); });
}

void waitCopies(uint32_t pending, Where where) {
  maybeSwitch();
  Thread &t = self();
  CopyQueue &queue = t.copies;
  if (queue.groups.size() <= pending)
    return;
  const size_t end = queue.groups[queue.groups.size() - 1 - pending];
  for (; queue.waited < end; ++queue.waited) {
    while (!queue.isSettled(queue.waited)) {
      queue.waiting = true;
      suspend(Thread::Blocked, "an asynchronous copy", where);
      queue.waiting = false;
    }
    CopyQueue::Batch &batch = queue.batches[queue.waited];
    if (batch.slot < 0)
      finish(t, batch, {SharedWord::Ordinary, int16_t(t.slot), t.epoch});
    else
      t.knowledge.seen.raise(t.block->id, batch.slot, batch.epoch);
  }
}

} // namespace moe::emulation
