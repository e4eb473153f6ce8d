//===- Scheduler.cpp - who runs next, and when asynchronous work happens ------------------------------------------===//

#include "State.h"

#include "GlobalMemory.h"

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
uint64_t globalTime() { return machine->time += 10; }

//===--------------------------------------------------------------------------------------------------------------===//
// Blocks and threads begin and end
//===--------------------------------------------------------------------------------------------------------------===//

static void endBlock(Block &block) {
  --machine->residentBlocks;
  for (auto &[address, barrier] : block.barriers)
    if (barrier.bytes)
      fault("block " + std::to_string(block.id) + " ends while mbarrier " + hex(address) + " still expects " +
                std::to_string(barrier.bytes) + " bytes",
            nullptr, nullptr);
  for (TileStore &store : block.stores)
    if (!store.read)
      fault("block " + std::to_string(block.id) + " ends while a TMA store still reads its shared memory", nullptr,
            &store.where);
  if (std::optional<uint32_t> address = block.shared.findInFlight())
    fault("block " + std::to_string(block.id) + " ends while " + block.shared.granule(*address).inFlight() +
              " writes its shared memory at " + hex(*address),
          nullptr, nullptr);
  block.shared.release(); // of large grids, only the resident blocks take memory
}

static void endThread(Thread &thread) {
  thread.state = Thread::Ended;
  --machine->liveThreads;
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
    (*machine->kernel)();
  } catch (const Unwind &) {
  }
  endThread(thread);
}

static void startBlock() {
  Machine &m = *machine;
  auto block = std::make_unique<Block>();
  const int threads = m.options.threads;
  block->id = m.startedBlocks++;
  block->live = threads;
  block->shared.allocate(m.options.sharedBytes);
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
    thread->registers = m.options.registersPerThread;
    thread->knowledge.seen.raise(block->id, i, thread->epoch);
    thread->fiber.start(threadMain, thread.get());
    m.ready.push_back(thread.get());
    block->threads.push_back(std::move(thread));
  }
  m.liveThreads += threads;
  ++m.residentBlocks;
  m.blocks.push_back(std::move(block));
}

//===--------------------------------------------------------------------------------------------------------------===//
// One step
//===--------------------------------------------------------------------------------------------------------------===//

static size_t pickThread() {
  Machine &m = *machine;
  size_t best = m.nextRandom() % m.ready.size();
  if (!m.options.skewed)
    return best;
  // A fixed preference among warps, drawn from the seed: some run far ahead, others starve.
  auto rank = [&](size_t i) {
    const uint64_t warp = uint64_t(m.ready[i]->block->id) * 64 + m.ready[i]->warp();
    return (warp * 0x9e3779b97f4a7c15 ^ m.options.seed * 0xd1342543de82ef95) >> 40;
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
  position = {thread->slot, m.options.threads, thread->block->id, m.options.blocks};
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
  const std::function<void()> happen = std::move(m.events.front());
  m.events.pop_front();
  m.madeProgress();
  happen();
}

/// Nothing can run: time passes, and all who poll try again.
static void stall(int round) {
  Machine &m = *machine;
  m.time += uint64_t(1000) << std::min(round, 30);
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
  const int blocks = m.options.firstBlocks ? std::min(m.options.firstBlocks, m.options.blocks) : m.options.blocks;
  while (m.report.ok() && (m.liveThreads || m.startedBlocks < blocks || !m.events.empty())) {
    while (m.startedBlocks < blocks && m.residentBlocks < m.options.residentBlocks)
      startBlock();
    const bool eventFirst = m.options.timing == Timing::Eager ||
                            (m.options.timing == Timing::Random && (m.nextRandom() & 15) == 0) || m.ready.empty();
    if (!m.events.empty() && eventFirst) {
      runEvent();
    } else if (!m.ready.empty()) {
      runThread();
    } else if (lastProgress != m.progress || stalls < kStallRounds) {
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

Report launch(const Options &options, const std::function<void()> &kernel) {
  Machine m;
  machine = &m;
  m.options = options;
  m.kernel = &kernel;
  m.random = options.seed * 0x9e3779b97f4a7c15 + 0x1234567;
  checkOptions(options);
  if (m.report.ok()) {
    if (!m.options.registersPerThread)
      m.options.registersPerThread = std::min(248, kRegistersPerBlock / options.threads / 8 * 8);
    for (int i = 0; i < 8; ++i) // neighbouring seeds start alike
      m.nextRandom();
    Clock::width = options.threads + kBarrierSlots + kStoreSlots;
    forgetGlobalAccesses();
    run();
  }
  const Report report = m.report;
  machine = nullptr;
  return report;
}

} // namespace moe::emulation
