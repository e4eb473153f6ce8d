//===- TileStore.cpp - TMA stores ---------------------------------------------------------------------------------===//

#include "TileStore.h"

#include "GlobalMemory.h"
#include "State.h"
#include "TensorMap.h"

#include <cstring>

namespace moe::emulation {

/// The clock slot of the calling thread's stores.
static int storeSlot(Where where) {
  Thread &t = self();
  if (t.stores.slot < 0) {
    if (t.block->storingThreads == kStoreSlots)
      fail("more than " + std::to_string(kStoreSlots) + " threads of a block store tiles", where);
    t.stores.slot = Clock::width - kStoreSlots + t.block->storingThreads++;
  }
  return t.stores.slot;
}

/// May the async proxy read these 16 bytes on behalf of the calling thread?
static void checkSource(Granule &granule, uint32_t address, Where where) {
  Thread &t = self();
  if (granule.barrier)
    fail("TMA store reads the mbarrier at " + hex(address), where);
  if (granule.inFlight())
    fail("TMA store reads shared memory " + hex(address) + " that " + granule.inFlight() + " writes", where);
  for (int w = 0; w < 4; ++w) {
    const SharedWord &word = granule.words[w];
    if (word.kind == SharedWord::Never)
      fail("TMA store reads shared memory " + hex(address + w * 4) + " that was never written", where);
    const bool atomic = word.kind == SharedWord::Atomic;
    const Clock &writers = t.block->shared.atomics[atomic ? address + w * 4 : 0];
    if (atomic ? !t.knowledge.seen.includes(writers) : !t.knows(word.slot, word.epoch))
      fail("TMA store reads shared memory " + hex(address + w * 4) + ": not ordered after its store", where);
    const bool ordinary = word.kind != SharedWord::Async;
    if (ordinary && (atomic ? !t.knowledge.asyncShared.includes(writers) : !t.asyncKnows(word.slot, word.epoch)))
      fail("TMA store reads shared memory " + hex(address + w * 4) +
               ": ordinary store without fence.proxy.async in between",
           where);
  }
}

void storeTile2d(const CUtensorMap *opaque, uint32_t from, int x, int y, Where where) {
  maybeSwitch();
  Thread &t = self();
  Block &block = *t.block;
  const TensorMap map = readTensorMap(opaque, where);
  requireBox(map, from, "TMA store", where);
  const uint32_t number = uint32_t(block.stores.size());
  const int slot = storeSlot(where);
  for (uint32_t a = from; a < from + map.boxBytes(); a += 16) {
    checkSource(block.shared.granule(a), a, where);
    block.shared.granule(a).store = number + 1;
  }
  block.stores.push_back({t.slot, ++t.stores.epoch, where});
  t.stores.open.stores.push_back(number);
  map.insideRows(x, y, 0, int(map.boxHeight), [&](int row, uint32_t byte, uint32_t bytes) {
    markTileTarget(map.at(x, y, row, byte), bytes, slot, t.stores.epoch, where);
  });
  ++machine->report.tileStores;
  machine->later([=, &block] {
    auto box = std::make_shared<std::vector<unsigned char>>(map.boxBytes());
    for (uint32_t i = 0; i < box->size(); i += 16)
      memcpy(&(*box)[i], block.shared.at(map.swizzled(from + i)), 16);
    block.stores[number].read = true;
    machine->later([=, &block] {
      map.insideRows(x, y, 0, int(map.boxHeight), [&](int row, uint32_t byte, uint32_t bytes) {
        memcpy(map.at(x, y, row, byte), &(*box)[row * map.rowOfBox() + byte], bytes);
      });
      block.stores[number].written = true;
    });
  });
}

void commitTileStores() {
  StoreQueue &stores = self().stores;
  stores.committed.push_back(std::move(stores.open));
  stores.open.stores.clear();
}

void waitTileStores(uint32_t pending, bool readOnly, Where where) {
  maybeSwitch();
  Thread &t = self();
  StoreQueue &queue = t.stores;
  const size_t target = queue.committed.size() - std::min<size_t>(queue.committed.size(), pending);
  for (size_t group = readOnly ? queue.waitedRead : queue.waitedWritten; group < target; ++group)
    for (uint32_t number : queue.committed[group].stores) {
      TileStore &store = t.block->stores[number];
      while (!(readOnly ? store.read : store.written))
        suspend(Thread::Polling, "a TMA store", where);
      if (!store.waitedEpoch)
        store.waitedEpoch = t.epoch;
      if (!readOnly)
        t.knowledge.seen.raise(t.block->id, queue.slot, store.epoch);
    }
  queue.waitedRead = std::max(queue.waitedRead, target);
  if (!readOnly)
    queue.waitedWritten = std::max(queue.waitedWritten, target);
}

} // namespace moe::emulation
