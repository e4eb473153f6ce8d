//===- Meeting.cpp - where the threads of a block or warp meet ----------------------------------------------------===//

#include "State.h"

namespace moe::emulation {

static void release(Meeting &meeting) {
  for (Thread *thread : meeting.waiters)
    thread->knowledge.join(meeting.knowledge);
  meeting.knowledge.clear();
  meeting.arrived = 0;
  ++machine->progress;
  machine->wakeAll(meeting.waiters);
}

static void meet(Meeting &meeting, uint32_t expected, const std::string &what, Where where) {
  Thread &t = self();
  meeting.expected = expected;
  publish(meeting.knowledge);
  meeting.waiters.push_back(&t);
  if (++meeting.arrived < expected)
    return suspend(Thread::Blocked, what, where);
  std::erase(meeting.waiters, &t);
  t.knowledge.join(meeting.knowledge);
  release(meeting);
}

void syncBlock(Where where) {
  Block &block = *self().block;
  meet(block.named[0], uint32_t(block.live), "block barrier 0", where);
}

void syncNamed(uint32_t id, uint32_t threads, Where where) {
  Thread &t = self();
  Meeting &meeting = t.block->named[id & 15];
  const std::string what = "block barrier " + std::to_string(id);
  if (id < 1 || id > 15)
    fail("named barriers are 1 to 15", where);
  if (threads < 32 || threads % 32)
    fail(what + ": a multiple of 32 threads", where);
  if (meeting.arrived && meeting.expected != threads)
    fail(what + ": threads disagree about the number of participants", where);
  meet(meeting, threads, what, where);
}

void syncWarp(Where where) {
  Warp &warp = self().block->warps[self().warp()];
  meet(warp.sync, uint32_t(warp.live), "__syncwarp", where);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Shuffles: values only, no order of memory
//===--------------------------------------------------------------------------------------------------------------===//

static int sourceOf(const Warp &warp, int lane) {
  switch (warp.kind) {
  case Exchange::Xor:
    return lane ^ warp.argument;
  case Exchange::Up:
    return lane < warp.argument ? lane : lane - warp.argument;
  case Exchange::Broadcast:
    return warp.argument;
  case Exchange::Ballot:
  case Exchange::Match:
    break;
  }
  return lane;
}

/// The lanes that are there and passed what `holds` says.
template <typename Condition> static uint32_t lanesWith(const Warp &warp, Condition holds) {
  uint32_t lanes = 0;
  for (int lane = 0; lane < 32; ++lane)
    lanes |= (warp.arrived >> lane & holds(warp.values[lane])) << lane;
  return lanes;
}

/// All lanes that have not ended are there.
static void completeExchange(Warp &warp) {
  const uint32_t votes = lanesWith(warp, [](uint32_t value) { return value & 1; });
  for (int lane = 0; lane < 32; ++lane) {
    warp.sources[lane] = sourceOf(warp, lane);
    if (warp.kind == Exchange::Ballot)
      warp.results[lane] = votes;
    else if (warp.kind == Exchange::Match)
      warp.results[lane] = lanesWith(warp, [&](uint32_t value) { return uint32_t(value == warp.values[lane]); });
    else
      warp.results[lane] = warp.values[warp.sources[lane]];
  }
  warp.participants = warp.arrived;
  warp.arrived = 0;
  ++machine->progress;
  machine->wakeAll(warp.waiters);
}

uint32_t exchange(Exchange kind, uint32_t value, int argument, Where where) {
  Thread &t = self();
  Warp &warp = t.block->warps[t.warp()];
  if (argument < 0 || argument > 31)
    fail("shuffle: the lane, mask or distance is 0 to 31", where);
  if (warp.arrived == 0) {
    warp.kind = kind;
    warp.argument = argument;
  } else if (warp.kind != kind || warp.argument != argument) {
    fail("the threads of a warp disagree about a shuffle", where);
  }
  warp.values[t.lane()] = value;
  warp.arrived |= 1u << t.lane();
  if (__builtin_popcount(warp.arrived) < warp.live) {
    warp.waiters.push_back(&t);
    suspend(Thread::Blocked, "a shuffle", where);
  } else {
    completeExchange(warp);
  }
  const int source = warp.sources[t.lane()];
  if (!(warp.participants >> source & 1))
    fail("shuffle reads lane " + std::to_string(source) + ", which has ended", where);
  return warp.results[t.lane()];
}

/// Nobody waits for a thread that has ended.
void leaveMeetings(Thread &thread) {
  Block &block = *thread.block;
  Warp &warp = block.warps[thread.warp()];
  --warp.live;
  if (block.named[0].arrived && block.named[0].arrived == uint32_t(block.live))
    release(block.named[0]);
  if (warp.sync.arrived && warp.sync.arrived == uint32_t(warp.live))
    release(warp.sync);
  if (warp.arrived && __builtin_popcount(warp.arrived) == warp.live)
    completeExchange(warp);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Registers
//===--------------------------------------------------------------------------------------------------------------===//

void setRegisters(int count, bool increase, Where where) {
  Thread &t = self();
  Block &block = *t.block;
  if (count < 24 || count > 256 || count % 8)
    fail("setmaxnreg: 24 to 256 in steps of 8", where);
  if (increase ? count < t.registers : count > t.registers)
    fail("setmaxnreg: wrong direction", where);
  while (increase && block.freeRegisters < count - t.registers) {
    block.registerWaiters.push_back(&t);
    suspend(Thread::Blocked, "registers (setmaxnreg.inc " + std::to_string(count) + ")", where);
  }
  block.freeRegisters -= count - t.registers;
  t.registers = count;
  if (!increase)
    machine->wakeAll(block.registerWaiters);
}

} // namespace moe::emulation
