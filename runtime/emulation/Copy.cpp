//===- Copy.cpp - cp.async ----------------------------------------------------------------------------------------===//
//
// Until its thread has waited for it, a copy is in flight: the target is NaN or already the data, and nobody may touch
// it. From the wait on it counts as an ordinary store of that thread, made at that moment.
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
  t.copies.groups.back().copies.push_back({to, from, bytes});
}

void commitCopies() {
  Thread &t = self();
  const size_t number = t.copies.groups.size() - 1;
  t.copies.groups.emplace_back();
  if (t.copies.groups[number].copies.empty()) {
    t.copies.groups[number].landed = true;
    return;
  }
  machine->events.push_back([&t, number] {
    CopyQueue::Group &group = t.copies.groups[number];
    for (const CopyQueue::Copy &copy : group.copies) {
      unsigned char *to = t.block->shared.at(copy.to);
      memset(to, 0, 16);
      if (copy.bytes) // a copy of nothing may come from nowhere
        memcpy(to, copy.from, copy.bytes);
    }
    group.landed = true;
    if (t.copies.waiting)
      machine->wake(&t);
  });
}

void waitCopies(uint32_t pending, Where where) {
  maybeSwitch();
  Thread &t = self();
  CopyQueue &queue = t.copies;
  const size_t committed = queue.groups.size() - 1;
  for (; queue.waited + pending < committed; ++queue.waited) {
    while (!queue.groups[queue.waited].landed) {
      queue.waiting = true;
      suspend(Thread::Blocked, "an asynchronous copy", where);
      queue.waiting = false;
    }
    for (const CopyQueue::Copy &copy : queue.groups[queue.waited].copies) {
      Granule &granule = t.block->shared.granule(copy.to);
      granule.copying = false;
      for (SharedWord &word : granule.words)
        word = {SharedWord::Ordinary, int16_t(t.slot), t.epoch};
    }
    queue.groups[queue.waited].copies = {};
  }
}

} // namespace moe::emulation
