//===- GlobalMemory.cpp - global memory, and who wrote what -------------------------------------------------------===//
//
// Reads are recorded only in windows (registered as such), since it takes a clock per word: elsewhere a store onto what
// another thread still has to read is not reported.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "GlobalMemory.h"

#include "State.h"

namespace moe::emulation {

namespace {

/// The last write.
struct Cell {
  enum Kind : uint8_t { None, Ordinary, Async, Atomic } kind = None;
  int16_t slot = 0;
  int32_t block = 0;
  uint32_t epoch = 0;
};

/// Threads that have read a cell, and when each did last.
class Readers {
public:
  void raise(int block, int slot, uint32_t epoch) {
    for (Cell &reader : readers)
      if (reader.block == block && reader.slot == slot) {
        reader.epoch = epoch;
        return;
      }
    readers.push_back({Cell::None, int16_t(slot), block, epoch});
  }
  bool knownTo(const Clock &clock) const {
    return std::all_of(readers.begin(), readers.end(),
                       [&](const Cell &r) { return clock.get(r.block, r.slot) >= r.epoch; });
  }
  void clear() { readers.clear(); }

private:
  std::vector<Cell> readers;
};

struct Buffer {
  const unsigned char *base;
  size_t bytes;
  std::string name;
  bool writable, isWindow;
  size_t unit = 4;              // bytes per cell: as small as the smallest store so far
  std::vector<Cell> cells;      // none if nobody writes: weights may be large
  std::vector<Readers> readers; // of a window: who has read each cell since it was written

  void refine(size_t newUnit) {
    std::vector<Cell> finer((bytes + newUnit - 1) / newUnit);
    for (size_t i = 0; i < finer.size(); ++i)
      finer[i] = cells[i * newUnit / unit];
    std::vector<Readers> finerReaders(isWindow ? finer.size() : 0);
    for (size_t i = 0; i < finerReaders.size(); ++i)
      finerReaders[i] = readers[i * newUnit / unit];
    cells = std::move(finer);
    readers = std::move(finerReaders);
    unit = newUnit;
  }
};

/// A word that is added to: those who did, and what the releases among them hand over.
struct AtomicWord {
  Clock writers;
  Knowledge released;
};

std::vector<Buffer> buffers;
std::map<const unsigned char *, size_t> numbers; // of buffers, by their ends; empty if they overlap
std::map<const void *, AtomicWord> atomics;

/// The cells of an access that has been found in a registered buffer.
struct Access {
  Buffer &buffer;
  size_t offset, bytes;

  template <typename Visit> void eachCell(Visit visit) {
    if (!buffer.writable)
      return;
    for (size_t c = offset / buffer.unit; c < (offset + bytes + buffer.unit - 1) / buffer.unit; ++c)
      visit(buffer.cells[c], buffer.base + c * buffer.unit);
  }
  std::string place() const { return buffer.name + " at byte " + std::to_string(offset); }
};

} // namespace

void registerGlobal(const void *base, size_t bytes, std::string name, bool writable, bool isWindow) {
  buffers.push_back({static_cast<const unsigned char *>(base), bytes, std::move(name), writable, isWindow, 4, {}, {}});
  if (writable)
    buffers.back().cells.resize((bytes + 3) / 4);
  if (isWindow)
    buffers.back().readers.resize((bytes + 3) / 4);
}
void clearGlobals() {
  buffers.clear();
  numbers.clear();
}

/// Programs have many buffers.
static void numberBuffers() {
  numbers.clear();
  for (size_t i = 0; i < buffers.size(); ++i)
    numbers.emplace(buffers[i].base + buffers[i].bytes, i);
  const unsigned char *end = nullptr;
  bool overlap = numbers.size() != buffers.size();
  for (auto &[next, i] : numbers) {
    overlap |= buffers[i].base < end;
    end = next;
  }
  if (overlap)
    numbers.clear();
}

struct MemoryKept::Globals {
  std::vector<Buffer> buffers;
  std::map<const unsigned char *, size_t> numbers;
  std::map<const void *, AtomicWord> atomics;

  void exchange() {
    buffers.swap(moe::emulation::buffers);
    numbers.swap(moe::emulation::numbers);
    atomics.swap(moe::emulation::atomics);
  }
};
MemoryKept::MemoryKept() : globals(new Globals) { globals->exchange(); }
MemoryKept::~MemoryKept() { globals->exchange(); }

void forgetGlobalAccesses() {
  numberBuffers();
  atomics.clear();
  for (Buffer &buffer : buffers) {
    std::fill(buffer.cells.begin(), buffer.cells.end(), Cell{});
    for (Readers &readers : buffer.readers)
      readers.clear();
  }
}

static Access find(const void *p, size_t bytes, const char *what, Where where) {
  auto *first = static_cast<const unsigned char *>(p);
  if (auto found = numbers.upper_bound(first); found != numbers.end()) {
    Buffer &buffer = buffers[found->second];
    if (first >= buffer.base && first + bytes <= found->first)
      return {buffer, size_t(first - buffer.base), bytes};
  }
  for (Buffer &buffer : buffers)
    if (numbers.empty() && first >= buffer.base && first + bytes <= buffer.base + buffer.bytes)
      return {buffer, size_t(first - buffer.base), bytes};
  fail(std::string(what) + " of " + std::to_string(bytes) + " bytes outside every registered buffer", where);
}

std::string nameOfFlag(const uint32_t *flag) {
  auto *first = reinterpret_cast<const unsigned char *>(flag);
  for (const Buffer &buffer : buffers)
    if (first >= buffer.base && first < buffer.base + buffer.bytes)
      return "flag " + std::to_string((first - buffer.base) / sizeof *flag) + " of " + buffer.name;
  return "a flag";
}

static Access findAligned(const void *p, size_t bytes, const char *what, Where where) {
  if (reinterpret_cast<uintptr_t>(p) % bytes)
    fail("misaligned " + std::string(what) + " of " + std::to_string(bytes) + " bytes", where);
  return find(p, bytes, what, where);
}

static bool includes(const Clock &clock, const Cell &cell, const void *p) {
  switch (cell.kind) {
  case Cell::None:
    return true;
  case Cell::Atomic:
    return clock.includes(atomics[p].writers);
  default:
    return clock.get(cell.block, cell.slot) >= cell.epoch;
  }
}

static void requireOrdered(Access &access, const char *what, Where where) {
  Thread &t = self();
  access.eachCell([&](const Cell &cell, const void *p) {
    if (includes(t.knowledge.seen, cell, p))
      return;
    std::string writer = "the atomic updates of it";
    if (cell.kind == Cell::Ordinary)
      writer = "the store of " + machine->namesOfBlocks[cell.block] + " thread " + std::to_string(cell.slot);
    if (cell.kind == Cell::Async)
      writer = "the TMA store of " + machine->namesOfBlocks[cell.block];
    fail(std::string(what) + " of " + access.place() + " is not ordered after " + writer, where);
  });
}

/// Whether an earlier launch of the calling thread's rank has written: then its end was a fence of all proxies.
static bool isOfEarlierLaunch(const Cell &cell) {
  if (cell.kind == Cell::None || cell.kind == Cell::Atomic)
    return false;
  const LaunchNumber writer = Clock::launches[cell.block];
  const Stream &own = *self().block->stream;
  return writer.rank == own.rank && writer.number < own.present;
}

static void requireFenced(Access &access, const char *what, Where where) {
  Thread &t = self();
  access.eachCell([&](const Cell &cell, const void *p) {
    if (cell.kind != Cell::Async && !isOfEarlierLaunch(cell) && !includes(t.knowledge.asyncGlobal, cell, p))
      fail(std::string(what) + " of " + access.place() + ": ordinary store of " + machine->namesOfBlocks[cell.block] +
               " before it, without fence.proxy.async of global memory in between",
           where);
  });
}

static void recordRead(Access &access) {
  Thread &t = self();
  if (access.buffer.isWindow)
    access.eachCell([&](Cell &cell, const void *) {
      access.buffer.readers[&cell - access.buffer.cells.data()].raise(t.block->id, t.slot, t.epoch);
    });
}

/// Whoever has read what is overwritten has said so.
static void requireRead(Access &access, const char *what, Where where) {
  Thread &t = self();
  if (access.buffer.isWindow)
    access.eachCell([&](Cell &cell, const void *) {
      if (!access.buffer.readers[&cell - access.buffer.cells.data()].knownTo(t.knowledge.seen))
        fail(std::string(what) + " of " + access.place() + " is not ordered after a load of it", where);
    });
}

static void write(Access &access, Cell cell, const char *what, size_t smallest, Where where) {
  requireRead(access, what, where);
  if (smallest < access.buffer.unit)
    access.buffer.refine(smallest);
  access.eachCell([&](Cell &c, const void *) {
    if (access.buffer.isWindow)
      access.buffer.readers[&c - access.buffer.cells.data()].clear();
    c = cell;
  });
}

static void requireWritable(const Access &access, const char *what, Where where) {
  if (!access.buffer.writable)
    fail(std::string(what) + " to read-only " + access.buffer.name, where);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Ordinary accesses
//===--------------------------------------------------------------------------------------------------------------===//

void checkGlobalRead(const void *p, size_t bytes, const char *what, Where where) {
  Access access = find(p, bytes, what, where);
  requireOrdered(access, what, where);
  recordRead(access);
}

void checkGlobalLoad(const void *p, size_t bytes, Where where) {
  Access access = findAligned(p, bytes, "load", where);
  requireOrdered(access, "load", where);
  recordRead(access);
}

void checkGlobalStore(const void *p, size_t bytes, Where where) {
  Thread &t = self();
  Access access = findAligned(p, bytes, "store", where);
  requireWritable(access, "store", where);
  requireOrdered(access, "store", where);
  write(access, {Cell::Ordinary, int16_t(t.slot), t.block->id, t.epoch}, "store", bytes, where);
}

void checkStreamedLoad(const void *p, size_t bytes, Where where) {
  Access access = findAligned(p, bytes, "load", where);
  access.eachCell([&](const Cell &cell, const void *) {
    if (cell.kind != Cell::None && !isOfEarlierLaunch(cell))
      fail("streamed load of " + access.place() + ", which this launch writes", where);
  });
}

//===--------------------------------------------------------------------------------------------------------------===//
// Atomic accesses
//===--------------------------------------------------------------------------------------------------------------===//

/// The word, found to be legal for an atomic update by the calling thread.
static AtomicWord &atomicWord(uint32_t *p, const char *what, Where where) {
  maybeSwitch();
  Thread &t = self();
  Access access = findAligned(p, 4, what, where);
  requireWritable(access, what, where);
  AtomicWord &word = atomics[p];
  access.eachCell([&](Cell &cell, const void *) {
    if (cell.kind == Cell::Atomic)
      return;
    requireOrdered(access, what, where);
    word.writers.clear();
    cell = {Cell::Atomic, 0, 0, 0};
  });
  word.writers.raise(t.block->id, t.slot, t.epoch);
  return word;
}

uint32_t addGlobal(uint32_t *p, uint32_t value, bool acquire, bool release, Where where) {
  AtomicWord &word = atomicWord(p, "atomic add", where);
  if (acquire)
    self().knowledge.join(word.released);
  if (release)
    publish(word.released);
  const uint32_t before = __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
  machine->madeProgress();
  return before;
}

uint32_t compareExchange(uint32_t *p, uint32_t expected, uint32_t value, Where where) {
  AtomicWord &word = atomicWord(p, "atomic exchange", where);
  if (__atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    publish(word.released);
    machine->madeProgress();
  }
  return expected; // what was there
}

void storeRelease(uint32_t *p, uint32_t value, Where where) {
  AtomicWord &word = atomicWord(p, "release store", where);
  word.released.clear();
  publish(word.released);
  __atomic_store_n(p, value, __ATOMIC_RELEASE);
  machine->madeProgress();
}

uint32_t loadAcquire(const uint32_t *p, Where where) {
  Thread &t = self();
  findAligned(p, 4, "acquire load", where);
  maybeSwitch();
  // Who polls without anything having happened gives way until something does.
  if (t.polledAt == machine->progress && ++t.polls > 4) {
    suspend(Thread::Polling, "a flag (acquire load, now " + std::to_string(*p) + ")", where);
    t.polls = 0;
  }
  if (t.polledAt != machine->progress)
    t.polls = 0;
  t.polledAt = machine->progress;
  auto found = atomics.find(p);
  if (found != atomics.end())
    t.knowledge.join(found->second.released);
  return __atomic_load_n(p, __ATOMIC_ACQUIRE); // others may be outside of the machine
}

//===--------------------------------------------------------------------------------------------------------------===//
// TMA
//===--------------------------------------------------------------------------------------------------------------===//

void checkTileSource(const void *p, size_t bytes, int row, Where where) {
  const std::string what = "TMA load of row " + std::to_string(row);
  Access access = find(p, bytes, what.c_str(), where);
  requireOrdered(access, what.c_str(), where);
  requireFenced(access, what.c_str(), where);
  recordRead(access);
}

void markTileTarget(const void *p, size_t bytes, int slot, uint32_t epoch, Where where) {
  Access access = find(p, bytes, "TMA store", where);
  requireWritable(access, "TMA store", where);
  requireOrdered(access, "TMA store", where);
  requireFenced(access, "TMA store", where);
  write(access, {Cell::Async, int16_t(slot), self().block->id, epoch}, "TMA store", 4, where);
}

} // namespace moe::emulation
