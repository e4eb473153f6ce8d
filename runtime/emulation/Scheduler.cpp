//===- Scheduler.cpp - who runs next, and when asynchronous work happens ------------------------------------------===//

#include "State.h"

#include "GlobalMemory.h"

#include <chrono>

namespace moe::emulation {

constexpr int kStallRounds = 400; // polls without any progress before a deadlock is declared

Position position;
Machine *machine = nullptr;

uint64_t Machine::nextRandom() {
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  return random;
}
void Machine::wake(Thread *thread) {
  if (thread->state != Thread::Blocked && thread->state != Thread::Polling)
    return;
  thread->state = Thread::Ready;
  ready.push_back(thread);
}
void Machine::wakeAll(std::vector<Thread *> &threads) {
  for (Thread *thread : threads)
    wake(thread);
  threads.clear();
}
void Machine::madeProgress() {
  ++progress;
  wakeAll(polling);
}
void Machine::later(std::function<void()> happen) {
  ++stream->events;
  events.push_back({stream, std::move(happen)});
}
void suspend(Thread::State state, std::string reason, Where where) {
  Thread &thread = self();
  thread.state = state;
  thread.waitsFor = std::move(reason);
  thread.waitsAt = where;
  if (state == Thread::Polling)
    machine->polling.push_back(&thread);
  thread.fiber.suspend();
}
void maybeSwitch() {
  if (machine->nextRandom() & 7)
    return;
  machine->ready.push_back(&self());
  self().fiber.suspend();
}
void publish(Knowledge &to) {
  Thread &thread = self();
  to.join(thread.knowledge);
  ++thread.epoch;
  thread.knowledge.seen.raise(thread.block->id, thread.slot, thread.epoch);
}

void backOff(Where where) { suspend(Thread::Polling, "back-off", where); }
void awaits(const AwaitedFlag &flag) { self().awaited = flag; }
uint64_t globalTime() {
  if (!machine->options.pause)
    return machine->time += 10;
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

//===--------------------------------------------------------------------------------------------------------------===//
// Blocks and threads begin and end
//===--------------------------------------------------------------------------------------------------------------===//

static void endBlock(Block &block) {
  --block.stream->residentBlocks;
  for (auto &[address, barrier] : block.barriers)
    if (barrier.bytes)
      fault(machine->namesOfBlocks[block.id] + " ends while mbarrier " + hex(address) + " still expects " +
                std::to_string(barrier.bytes) + " bytes",
            nullptr, nullptr);
  for (TileStore &store : block.stores)
    if (!store.read)
      fault(machine->namesOfBlocks[block.id] + " ends while a TMA store still reads its shared memory", nullptr,
            &store.where);
  if (std::optional<uint32_t> address = block.shared.findInFlight())
    fault(machine->namesOfBlocks[block.id] + " ends while " + block.shared.granule(*address).inFlight() +
              " writes its shared memory at " + hex(*address),
          nullptr, nullptr);
  block.shared.release(); // of large grids, only the resident blocks take memory
}

static void endThread(Thread &thread) {
  thread.state = Thread::Ended;
  --thread.block->stream->liveThreads;
  ++machine->progress;
  if (!thread.inFlight.empty())
    fault("thread ends with wgmma in flight on its accumulators", &thread, nullptr);
  if (!thread.copies.arrivals.empty())
    fault("thread ends before its arrival at mbarrier " + hex(thread.copies.arrivals.front().barrier->address) +
              ", which waits for copies",
          &thread, &thread.copies.arrivals.front().where);
  --thread.block->live;
  leaveMeetings(thread);
  if (thread.block->live == 0)
    endBlock(*thread.block);
}

static void threadMain(void *argument) {
  Thread &thread = *static_cast<Thread *>(argument);
  try {
    thread.block->launch->kernel();
  } catch (const Unwind &) {
  }
  endThread(thread);
}

static int blocksOf(const Options &options) {
  return options.firstBlocks ? std::min(options.firstBlocks, options.blocks) : options.blocks;
}

static int registersOf(const Options &options) {
  return options.registersPerThread ? options.registersPerThread
                                    : std::min(248, kRegistersPerBlock / options.threads / 8 * 8);
}

static void startBlock(Stream &stream) {
  Machine &m = *machine;
  auto block = std::make_unique<Block>();
  block->stream = &stream;
  block->launch = &stream.launches[stream.present];
  const Options &options = block->launch->options;
  const int threads = options.threads;
  block->id = int(Clock::launches.size());
  block->index = stream.startedBlocks++;
  Clock::launches.push_back({stream.rank, uint32_t(stream.present)});
  const std::string &name = block->launch->name;
  m.namesOfBlocks.push_back((name.empty() ? "" : "rank " + std::to_string(stream.rank) + " " + name + " ") + "block " +
                            std::to_string(block->index));
  block->live = threads;
  block->shared.allocate(options.sharedBytes);
  block->warps = std::vector<Warp>(threads / 32);
  for (Warp &warp : block->warps)
    warp.live = 32;
  block->warpgroups = std::vector<Warpgroup>((threads + 127) / 128);
  for (size_t i = 0; i < block->warpgroups.size(); ++i)
    block->warpgroups[i].index = int(i);
  for (int i = 0; i < threads; ++i) {
    auto thread = std::make_unique<Thread>();
    thread->block = block.get();
    thread->slot = i;
    thread->registers = registersOf(options);
    thread->knowledge.join(stream.knowledge);
    thread->knowledge.seen.raise(block->id, i, thread->epoch);
    thread->fiber.start(threadMain, thread.get());
    m.ready.push_back(thread.get());
    block->threads.push_back(std::move(thread));
  }
  stream.liveThreads += threads;
  ++stream.residentBlocks;
  m.blocks.push_back(std::move(block));
}

/// What the launch has written is visible to the next one of its rank, and what it has learnt from others as it was
/// learnt.
static void endLaunch(Stream &stream) {
  Machine &m = *machine;
  const uint32_t ended = uint32_t(stream.present) + 1;
  for (auto &block : m.blocks)
    if (block->stream == &stream)
      for (auto &thread : block->threads) {
        stream.knowledge.seen.join(thread->knowledge.seen);
        stream.knowledge.asyncGlobal.join(thread->knowledge.asyncGlobal);
      }
  stream.knowledge.seen.end(stream.rank, ended);
  std::erase_if(m.blocks, [&](auto &block) { return block->stream == &stream; });
  stream.startedBlocks = 0;
  ++stream.present;
  ++m.progress;
}

/// Begins what can begin. Returns whether the rank has ended.
static bool advance(Stream &stream) {
  for (; stream.present < stream.launches.size(); endLaunch(stream)) {
    const Options &options = stream.launches[stream.present].options;
    while (stream.startedBlocks < blocksOf(options) && stream.residentBlocks < options.residentBlocks)
      startBlock(stream);
    if (stream.liveThreads || stream.events || stream.startedBlocks < blocksOf(options))
      return false;
  }
  return true;
}

//===--------------------------------------------------------------------------------------------------------------===//
// One step
//===--------------------------------------------------------------------------------------------------------------===//

static size_t pickThread() {
  Machine &m = *machine;
  size_t best = m.nextRandom() % m.ready.size();
  if (!m.options.skewed)
    return best;
  // A fixed preference among ranks, and among the warps of one, drawn from the seed: some run far ahead, others starve.
  auto drawn = [&](uint64_t number) {
    return (number * 0x9e3779b97f4a7c15 ^ m.options.seed * 0xd1342543de82ef95) >> 40;
  };
  auto rank = [&](size_t i) {
    const Block &block = *m.ready[i]->block;
    const uint64_t warp = drawn(uint64_t(block.id) * 64 + m.ready[i]->warp());
    return m.streams.size() == 1 ? warp : drawn(block.stream->rank) << 24 | warp;
  };
  for (int tries = 0; tries < 6; ++tries) {
    const size_t other = m.nextRandom() % m.ready.size();
    if (rank(other) < rank(best))
      best = other;
  }
  return best;
}

static void runThread() {
  Machine &m = *machine;
  const size_t i = pickThread();
  Thread *thread = m.ready[i];
  m.ready[i] = m.ready.back();
  m.ready.pop_back();
  m.self = thread;
  m.stream = thread->block->stream;
  const Options &options = thread->block->launch->options;
  position = {thread->slot, options.threads, thread->block->index, options.blocks};
  ++m.report.switches;
  thread->fiber.resume();
  if (thread->fiber.overflowed())
    fault("stack overflow", thread, nullptr);
  m.self = nullptr;
}

static void runEvent() {
  Machine &m = *machine;
  if (m.options.timing != Timing::Eager)
    std::swap(m.events.front(), m.events[m.nextRandom() % m.events.size()]);
  const Event event = std::move(m.events.front());
  m.events.pop_front();
  m.stream = event.stream;
  m.madeProgress();
  event.happen();
  --event.stream->events;
}

/// Others may run launches of their own on this machine's memory in the meantime, in this process too.
static void standAside() {
  Machine &own = *machine;
  const Position position = emulation::position;
  const int width = Clock::width;
  std::vector<LaunchNumber> launches = std::move(Clock::launches);
  {
    MemoryKept memory;
    own.options.pause();
  }
  machine = &own;
  emulation::position = position;
  Clock::width = width;
  Clock::launches = std::move(launches);
}

/// Nothing can run: time passes, and all who poll try again.
static void stall(int round) {
  Machine &m = *machine;
  m.time += uint64_t(1000) << std::min(round, 30);
  if (m.options.pause)
    standAside();
  m.wakeAll(m.polling);
  for (auto &block : m.blocks)
    for (auto &thread : block->threads)
      if (thread->barrier)
        m.wake(thread.get());
}

static void run() {
  Machine &m = *machine;
  int stalls = 0;
  uint64_t lastProgress = ~uint64_t(0);
  auto haveEnded = [&] {
    size_t ended = 0;
    for (auto &stream : m.streams)
      ended += advance(*stream);
    return ended == m.streams.size();
  };
  while (m.report.ok() && !haveEnded()) {
    const bool eventFirst = m.options.timing == Timing::Eager ||
                            (m.options.timing == Timing::Random && (m.nextRandom() & 15) == 0) || m.ready.empty();
    if (!m.events.empty() && eventFirst) {
      runEvent();
    } else if (!m.ready.empty()) {
      runThread();
    } else if (lastProgress != m.progress || stalls < kStallRounds || (m.options.pause && !m.polling.empty())) {
      stalls = lastProgress == m.progress ? stalls + 1 : 0;
      lastProgress = m.progress;
      stall(stalls);
      if (m.ready.empty())
        return reportDeadlock();
    } else {
      return reportDeadlock();
    }
  }
}

static void checkOptions(const Options &options) {
  if (options.threads < 32 || options.threads % 32 || options.threads > 1024)
    fault("launch: a block has a multiple of 32 threads, up to 1024", nullptr, nullptr);
  else if (options.blocks < 1 || options.residentBlocks < 1 || options.firstBlocks < 0)
    fault("launch: at least one block", nullptr, nullptr);
  else if (options.sharedBytes > kMaxSharedBytes)
    fault("launch: more than 227 KiB of dynamic shared memory", nullptr, nullptr);
  else if (options.threads * options.registersPerThread > kRegistersPerBlock)
    fault("launch: more than 65536 registers", nullptr, nullptr);
}

Report launchRanks(const Options &schedule, const std::vector<std::vector<Launch>> &ranks) {
  Machine m;
  machine = &m;
  m.options = schedule;
  m.random = schedule.seed * 0x9e3779b97f4a7c15 + 0x1234567;
  int threads = 0; // of the largest block
  for (const std::vector<Launch> &launches : ranks) {
    m.streams.push_back(std::make_unique<Stream>());
    m.streams.back()->rank = int(m.streams.size()) - 1;
    m.streams.back()->launches = launches;
    for (const Launch &launch : launches) {
      checkOptions(launch.options);
      threads = std::max(threads, launch.options.threads);
    }
  }
  if (m.report.ok()) {
    for (int i = 0; i < 8; ++i) // neighbouring seeds start alike
      m.nextRandom();
    Clock::width = threads + kBarrierSlots + kStoreSlots;
    Clock::launches.clear();
    forgetGlobalAccesses();
    run();
  }
  const Report report = m.report;
  machine = nullptr;
  return report;
}

Report launch(const Options &options, const std::function<void()> &kernel) {
  return launchRanks(options, {{{options, kernel, ""}}});
}

} // namespace moe::emulation
