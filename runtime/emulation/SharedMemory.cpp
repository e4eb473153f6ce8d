//===- SharedMemory.cpp - ordinary and atomic accesses to shared memory -------------------------------------------===//

#include "State.h"

#include <cstring>

namespace moe::emulation {

void requireShared(uint32_t address, uint32_t bytes, const char *what, Where where) {
  if (!self().block->shared.contains(address, bytes))
    fail(std::string(what) + " outside shared memory: " + hex(address) + " + " + std::to_string(bytes), where);
}

static int wordsOf(uint32_t address, uint32_t bytes) { return ((1 << bytes / 4) - 1) << address % 16 / 4; }

static void requireAccess(uint32_t address, uint32_t bytes, const char *what, Where where) {
  requireShared(address, bytes, what, where);
  if (address % bytes)
    fail("misaligned shared " + std::string(what) + " of " + std::to_string(bytes) + " bytes at " + hex(address),
         where);
}

static void checkWritten(Thread &t, const SharedWord &word, uint32_t address, const char *what, Where where) {
  SharedMemory &shared = t.block->shared;
  if (word.kind == SharedWord::Never)
    fail(std::string(what) + " of shared memory " + hex(address) + " that was never written", where);
  const bool ordered = word.kind == SharedWord::Atomic ? t.knowledge.seen.includes(shared.atomics[address])
                                                       : t.knows(word.slot, word.epoch);
  if (!ordered)
    fail(std::string(what) + " of shared memory " + hex(address) + " is not ordered after its " +
             (word.kind == SharedWord::Async    ? "TMA load: this thread has not waited for the mbarrier"
              : word.kind == SharedWord::Copied ? "asynchronous copy: this thread has not waited for the mbarrier"
                                                : "write"),
         where);
}

void readShared(uint32_t address, void *to, uint32_t bytes, Where where) {
  requireAccess(address, bytes, "load", where);
  Thread &t = self();
  Granule &g = t.block->shared.granule(address);
  if (g.barrier)
    fail("ordinary load of mbarrier memory at " + hex(address), where);
  if (g.inFlight())
    fail("load of shared memory " + hex(address) + " that " + g.inFlight() + " writes", where);
  const int words = wordsOf(address, bytes);
  for (int w = 0; w < 4; ++w)
    if (words >> w & 1)
      checkWritten(t, g.words[w], address / 16 * 16 + w * 4, "load", where);
  // Keep the latest read of each word by each thread.
  std::erase_if(g.reads, [&](SharedRead &read) { return read.slot == t.slot && !(read.words &= ~words); });
  g.reads.push_back({int16_t(t.slot), uint8_t(words), t.epoch});
  memcpy(to, t.block->shared.at(address), bytes);
}

void writeShared(uint32_t address, const void *from, uint32_t bytes, Where where) {
  requireAccess(address, bytes, "store", where);
  Thread &t = self();
  Granule &g = t.block->shared.granule(address);
  const int words = wordsOf(address, bytes);
  OverwriteCheck(false, where)(g, address, words);
  for (int w = 0; w < 4; ++w)
    if (words >> w & 1)
      g.words[w] = {SharedWord::Ordinary, int16_t(t.slot), t.epoch};
  memcpy(t.block->shared.at(address), from, bytes);
}

uint32_t addShared(uint32_t address, uint32_t value, Where where) {
  maybeSwitch();
  requireAccess(address, 4, "atomic add", where);
  Thread &t = self();
  SharedMemory &shared = t.block->shared;
  Granule &g = shared.granule(address);
  SharedWord &word = g.words[address % 16 / 4];
  if (word.kind == SharedWord::Never)
    fail("atomic add to shared memory " + hex(address) + " that was never written", where);
  OverwriteCheck(false, where).atomic(g, address);
  if (word.kind != SharedWord::Atomic) {
    shared.atomics[address].clear();
    word = {SharedWord::Atomic, 0, 0};
  }
  shared.atomics[address].raise(t.block->id, t.slot, t.epoch);
  uint32_t before;
  memcpy(&before, shared.at(address), 4);
  value += before;
  memcpy(shared.at(address), &value, 4);
  return before;
}

//===--------------------------------------------------------------------------------------------------------------===//
// OverwriteCheck
//===--------------------------------------------------------------------------------------------------------------===//

OverwriteCheck::OverwriteCheck(bool async, Where where) : thread(self()), async(async), where(where) {}

void OverwriteCheck::refuse(uint32_t address, const std::string &why) const {
  fail((async ? "TMA load" : "store") + std::string(" overwrites shared memory ") + hex(address) + why, where);
}

void OverwriteCheck::operator()(Granule &granule, uint32_t address, int words) {
  checkAsyncReaders(granule, address);
  checkWrites(granule, address, words);
  checkReads(granule, address, words);
}

void OverwriteCheck::atomic(Granule &granule, uint32_t address) {
  const int word = int(address % 16 / 4);
  checkAsyncReaders(granule, address);
  if (granule.words[word].kind != SharedWord::Atomic)
    checkWrites(granule, address, 1 << word);
  checkReads(granule, address, 1 << word);
}

void OverwriteCheck::checkAsyncReaders(Granule &granule, uint32_t address) {
  if (granule.barrier)
    fail((async ? "TMA load" : "store") + std::string(" onto the mbarrier at ") + hex(address), where);
  if (granule.loading)
    refuse(address, " that another TMA load in flight writes");
  if (granule.copying)
    refuse(address, " that an asynchronous copy in flight writes");
  checkProducts(granule, address);
  checkStore(granule, address);
}

void OverwriteCheck::checkProducts(Granule &granule, uint32_t address) {
  for (Warpgroup &warpgroup : thread.block->warpgroups) {
    const uint32_t reader = granule.wgmma[warpgroup.index];
    if (!reader || (warpgroup.index == harmlessWarpgroup && reader <= harmlessGroup))
      continue;
    const std::string name = "warpgroup " + std::to_string(warpgroup.index);
    switch (warpgroup.stateOf(reader - 1, thread)) {
    case Warpgroup::Uncommitted:
      refuse(address, " that an uncommitted wgmma of " + name + " reads");
    case Warpgroup::Running:
      refuse(address, " that a wgmma in flight of " + name + " reads");
    case Warpgroup::Unordered:
      refuse(address, ": not ordered after the wait of " + name + " for its wgmma" +
                          (machine->options.strict ? " (all four warps)" : ""));
    case Warpgroup::Harmless:
      harmlessWarpgroup = warpgroup.index;
      harmlessGroup = reader;
    }
  }
}

void OverwriteCheck::checkStore(Granule &granule, uint32_t address) {
  if (!granule.store)
    return;
  const TileStore &store = thread.block->stores[granule.store - 1];
  if (!store.read)
    refuse(address, " that a TMA store in flight reads");
  if (!store.waitedEpoch || !thread.knows(store.issuer, store.waitedEpoch))
    refuse(address, ": not ordered after the wait for the TMA store that read it");
}

void OverwriteCheck::checkWrites(const Granule &granule, uint32_t address, int words) {
  const SharedWord *last = nullptr;
  for (int w = 0; w < 4; ++w) {
    const SharedWord &word = granule.words[w];
    if (!(words >> w & 1) || word.kind == SharedWord::Never)
      continue;
    const bool atomic = word.kind == SharedWord::Atomic;
    if (!atomic && last && word == *last)
      continue;
    last = &word;
    const uint32_t at = address / 16 * 16 + w * 4;
    const Knowledge &known = thread.knowledge;
    auto isKnown = [&](const Clock &clock) {
      return atomic ? clock.includes(thread.block->shared.atomics[at])
                    : clock.get(thread.block->id, word.slot) >= word.epoch;
    };
    if (!isKnown(known.seen))
      refuse(at, ": not ordered after the previous write");
    if (async && word.kind != SharedWord::Async && !isKnown(known.asyncShared))
      refuse(at, ": ordinary store before it, without fence.proxy.async in between");
  }
}

void OverwriteCheck::checkReads(Granule &granule, uint32_t address, int words) {
  for (SharedRead &read : granule.reads)
    if (read.words & words) {
      if (read.slot != thread.slot && !thread.knows(read.slot, read.epoch))
        refuse(address, ": not ordered after a load by thread " + std::to_string(read.slot));
      if (async && !thread.asyncKnows(read.slot, read.epoch))
        refuse(address, ": ordinary load before it, without fence.proxy.async in between");
      read.words &= ~words;
    }
  std::erase_if(granule.reads, [](const SharedRead &read) { return !read.words; });
}

} // namespace moe::emulation
