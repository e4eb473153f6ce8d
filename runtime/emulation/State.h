//===- State.h - state of the emulated machine --------------------------------------------------------------------===//
#ifndef MOE_EMULATION_STATE_H
#define MOE_EMULATION_STATE_H

#include "Clock.h"
#include "Copy.h"
#include "Fiber.h"
#include "Launch.h"
#include "Machine.h"
#include "SharedMemory.h"
#include "TileStore.h"
#include "Wgmma.h"

#include <deque>
#include <map>
#include <string>

namespace moe::emulation {

constexpr uint32_t kMaxSharedBytes = 227 * 1024;
constexpr int kRegistersPerBlock = 65536;
constexpr int kBarrierSlots = 64;
constexpr int kStoreSlots = 8;

struct Block;

struct Thread {
  enum State { Ready, Blocked, Polling, Ended };

  Fiber fiber;
  Block *block = nullptr;
  int slot = 0; // its number in the block
  State state = Ready;
  std::string waitsFor;
  Where waitsAt;
  struct Barrier *barrier = nullptr; // in tryWait
  AwaitedFlag awaited;               // of another rank
  Knowledge knowledge;
  uint32_t epoch = 1; // of what it does next; ends with each release
  int registers = 0;
  // wgmma
  uint32_t productsIssued = 0, groupsCommitted = 0, groupsRetired = 0;
  uint64_t fences = 0;
  std::vector<Registers *> inFlight;
  // stores of tiles
  StoreQueue stores;
  CopyQueue copies;
  // polls of flags without any progress in between
  uint64_t polledAt = ~uint64_t(0);
  int polls = 0;

  int warp() const { return slot / 32; }
  int lane() const { return slot % 32; }
  bool knows(int slot, uint32_t epoch) const;
  bool asyncKnows(int slot, uint32_t epoch) const; // of shared memory
};

/// mbarrier.
struct Barrier {
  uint32_t address = 0, count = 0;
  int64_t pending = 0, bytes = 0; // arrivals and bytes that the phase lacks
  uint64_t phase = 0;
  int slot = 0; // of the TMA loads that complete here
  uint32_t asyncEpoch = 0;
  int copySlot = -1; // of the copies of threads that it hands over, if any
  uint32_t copyEpoch = 0;
  int initSlot = 0;
  uint32_t initEpoch = 0;
  bool fenced = false; // fence.mbarrier_init after the init
  Knowledge current, completed;
  std::vector<Thread *> waiters;
};

/// A barrier of threads: bar.sync, __syncthreads, __syncwarp.
struct Meeting {
  uint32_t arrived = 0, expected = 0;
  Knowledge knowledge;
  std::vector<Thread *> waiters;
};

struct Warp {
  int live = 0;
  Meeting sync;
  // The shuffle under way, and the results of the one before, which some lanes may still have to fetch.
  Exchange kind = Exchange::Xor;
  int argument = 0;
  uint32_t arrived = 0; // lanes
  uint32_t values[32] = {}, results[32] = {};
  int sources[32] = {};
  uint32_t participants = 0;
  std::vector<Thread *> waiters;
};

/// The launches of a rank, one after the other.
struct Stream {
  int rank = 0;
  std::vector<Launch> launches;
  size_t present = 0; // the launch that runs
  int startedBlocks = 0, residentBlocks = 0, liveThreads = 0;
  int events = 0;      // that have not happened yet
  Knowledge knowledge; // what the next launch begins with
};

struct Block {
  int id = 0, live = 0; // the id counts blocks of all launches
  int index = 0;        // in its launch
  Stream *stream = nullptr;
  const Launch *launch = nullptr;
  SharedMemory shared;
  std::map<uint32_t, Barrier> barriers; // by address
  Meeting named[16];
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  std::vector<std::unique_ptr<Thread>> threads;
  std::deque<TileStore> stores;
  int barrierSlots = 0;   // clock slots taken by mbarriers
  int storingThreads = 0; // and by threads that store tiles
  int freeRegisters = 0;
  std::vector<Thread *> registerWaiters;
};

struct Event {
  Stream *stream;
  std::function<void()> happen;
};

struct Machine {
  Options options; // the schedule
  Report report;
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<Thread *> ready, polling;
  std::deque<Event> events; // asynchronous work that has not happened yet
  Thread *self = nullptr;
  Stream *stream = nullptr;               // whose thread runs, or whose event happens
  std::vector<std::string> namesOfBlocks; // by id
  uint64_t random = 0, progress = 0, time = 0;

  uint64_t nextRandom();
  void wake(Thread *thread);
  void wakeAll(std::vector<Thread *> &threads);
  void madeProgress();
  /// Asynchronous work of what runs now.
  void later(std::function<void()> happen);
};

extern Machine *machine;

inline Thread &self() { return *machine->self; }
inline bool Thread::knows(int s, uint32_t e) const { return knowledge.seen.get(block->id, s) >= e; }
inline bool Thread::asyncKnows(int s, uint32_t e) const { return knowledge.asyncShared.get(block->id, s) >= e; }

// Scheduler.cpp
/// Until another thread or event wakes the calling thread, or time passes (Polling).
void suspend(Thread::State state, std::string reason, Where where);
void maybeSwitch();
/// Release by the calling thread.
void publish(Knowledge &to);

// Faults.cpp
/// Ends the launch with this message; the first one counts.
[[noreturn]] void fail(const std::string &message, Where where);
void fault(const std::string &message, const Thread *thread, const Where *where);
std::string hex(uint32_t value);
void reportDeadlock();
struct Unwind {}; // thrown by fail, caught where the thread started

// GlobalMemory.cpp
/// May the calling thread read these bytes? Fails with `what` if not.
void checkGlobalRead(const void *p, size_t bytes, const char *what, Where where);

// Barrier.cpp
/// The mbarrier that the calling thread may use at this address.
Barrier &barrierAt(uint32_t address, Where where);
/// A clock slot of the calling thread's block for asynchronous writes that complete at an mbarrier.
int takeBarrierSlot(Where where);
std::string tooManyArrivals(const Barrier &barrier);
/// Completes the phase if nothing is lacking.
void settle(Barrier &barrier);

// Meeting.cpp
/// The thread has ended; nobody waits for it.
void leaveMeetings(Thread &thread);

} // namespace moe::emulation

#endif
