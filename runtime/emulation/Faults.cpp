//===- Faults.cpp - messages --------------------------------------------------------------------------------------===//

#include "GlobalMemory.h"
#include "State.h"

namespace moe::emulation {

std::string hex(uint32_t value) {
  char text[16];
  snprintf(text, sizeof text, "0x%x", value);
  return text;
}

static std::string nameOf(const Thread &thread) {
  return machine->namesOfBlocks[thread.block->id] + " warp " + std::to_string(thread.warp()) + " lane " +
         std::to_string(thread.lane());
}

static std::string nameOf(const Where &where) {
  const std::string file = where.file_name();
  return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line());
}

void fault(const std::string &message, const Thread *thread, const Where *where) {
  if (!machine->report.ok())
    return; // the first one counts
  machine->report.fault = (where ? nameOf(*where) + ": " : "") + message + (thread ? " [" + nameOf(*thread) + "]" : "");
}

void fail(const std::string &message, Where where) {
  fault(message, machine->self, &where);
  throw Unwind{};
}

static std::string describe(const Barrier &barrier) {
  return "mbarrier " + hex(barrier.address) + ": phase " + std::to_string(barrier.phase) + " lacks " +
         std::to_string(barrier.pending) + " of " + std::to_string(barrier.count) + " arrivals and " +
         std::to_string(barrier.bytes) + " bytes";
}

static std::string describe(const AwaitedFlag &awaited) {
  return nameOfFlag(awaited.flag) + " from rank " + std::to_string(awaited.peer) + " (now " +
         std::to_string(*awaited.flag) + ", awaited " + std::to_string(awaited.want) + ")";
}

void reportDeadlock() {
  std::map<std::string, std::map<int, std::map<int, int>>> waiting; // for what -> block -> warp -> threads
  for (auto &block : machine->blocks)
    for (auto &thread : block->threads)
      if (thread->state != Thread::Ended) {
        const std::string what = thread->barrier        ? describe(*thread->barrier)
                                 : thread->awaited.flag ? describe(thread->awaited)
                                                        : thread->waitsFor;
        ++waiting["at " + nameOf(thread->waitsAt) + " wait for " + what][block->id][thread->warp()];
      }
  std::string text = "deadlock:";
  for (auto &[what, blocks] : waiting)
    for (auto &[block, warps] : blocks) {
      int threads = 0;
      for (auto &[warp, count] : warps)
        threads += count;
      text += "\n    " + machine->namesOfBlocks[block] + ", warps " + std::to_string(warps.begin()->first) + " to " +
              std::to_string(warps.rbegin()->first) + ": " + std::to_string(threads) + " threads " + what;
    }
  fault(text, nullptr, nullptr);
}

} // namespace moe::emulation
