//===- Barrier.cpp - mbarriers ------------------------------------------------------------------------------------===//

#include "State.h"

namespace moe::emulation {

constexpr uint32_t kMaxCount = (1 << 20) - 1; // arrivals, and bytes expected

Barrier &barrierAt(uint32_t address, Where where) {
  Thread &t = self();
  if (address % 8)
    fail("misaligned mbarrier " + hex(address), where);
  auto found = t.block->barriers.find(address);
  if (found == t.block->barriers.end())
    fail("use of an mbarrier that was never initialised: " + hex(address), where);
  Barrier &barrier = found->second;
  if (!t.knows(barrier.initSlot, barrier.initEpoch))
    fail("use of mbarrier " + hex(address) + " is not ordered after its initialisation", where);
  return barrier;
}

int takeBarrierSlot(Where where) {
  Block &block = *self().block;
  if (block.barrierSlots == kBarrierSlots)
    fail("more than " + std::to_string(kBarrierSlots) + " mbarriers in a block; one that copies arrive at counts twice",
         where);
  return Clock::width - kStoreSlots - kBarrierSlots + block.barrierSlots++;
}

std::string tooManyArrivals(const Barrier &barrier) {
  return "mbarrier " + hex(barrier.address) + ": more arrivals than its count of " + std::to_string(barrier.count);
}

void initBarrier(uint32_t address, uint32_t arrivals, Where where) {
  requireShared(address, 8, "mbarrier", where);
  Thread &t = self();
  auto &barriers = t.block->barriers;
  if (address % 8)
    fail("misaligned mbarrier " + hex(address), where);
  if (arrivals < 1 || arrivals > kMaxCount)
    fail("mbarrier " + hex(address) + ": the count is 1 to 2^20 - 1", where);
  if (barriers.count(address))
    fail("mbarrier " + hex(address) + " initialised twice", where);
  Barrier &barrier = barriers[address];
  barrier.address = address;
  barrier.count = arrivals;
  barrier.pending = arrivals;
  barrier.slot = takeBarrierSlot(where);
  barrier.initSlot = t.slot;
  barrier.initEpoch = t.epoch;
  t.block->shared.granule(address).barrier = true;
}

void fenceBarrierInit() {
  Thread &t = self();
  for (auto &[address, barrier] : t.block->barriers)
    if (barrier.initSlot == t.slot)
      barrier.fenced = true;
}

void settle(Barrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  ++barrier.phase;
  barrier.pending = barrier.count;
  std::swap(barrier.completed, barrier.current);
  barrier.current.clear();
  machine->wakeAll(barrier.waiters);
  machine->madeProgress();
}

void arrive(uint32_t address, uint32_t expectedBytes, Where where) {
  maybeSwitch();
  Barrier &barrier = barrierAt(address, where);
  if (barrier.pending == 0)
    fail(tooManyArrivals(barrier), where);
  barrier.bytes += expectedBytes;
  if (barrier.bytes > kMaxCount)
    fail("mbarrier " + hex(address) + ": more than 2^20 - 1 bytes expected", where);
  publish(barrier.current);
  --barrier.pending;
  ++machine->progress;
  settle(barrier);
}

bool tryWait(uint32_t address, uint32_t parity, Where where) {
  if (parity > 1)
    fail("the parity of an mbarrier is 0 or 1", where);
  maybeSwitch();
  Barrier &barrier = barrierAt(address, where);
  Thread &t = self();
  if ((barrier.phase & 1) == parity) {
    const uint64_t waitedFor = barrier.phase;
    barrier.waiters.push_back(&t);
    t.barrier = &barrier;
    suspend(Thread::Blocked, "", where);
    t.barrier = nullptr;
    if (barrier.phase == waitedFor) { // woken by a stall: the time limit of try_wait
      std::erase(barrier.waiters, &t);
      return false;
    }
    if (barrier.phase > waitedFor + 1)
      fail("mbarrier " + hex(address) +
               " ran through a whole further phase while this thread waited: its parity says nothing",
           where);
  }
  t.knowledge.join(barrier.completed);
  return true;
}

} // namespace moe::emulation
