// Launches in a row with nothing to do: what lies between one and the next.
#include "device.cuh"
using namespace moe;

/// `times`: a start and an end per launch of a chain of `links`, in nanoseconds, of its first block. Each launch adds
/// one to the counter; it is at its place in the chain if it found its number there, and then adds one to the second
/// counter.
MOE_DEVICE void writeLink(uint32_t *counters, uint64_t *times, int64_t link, int64_t links, uint64_t start) {
  if (addGlobal(counters, 1u) % uint32_t(links) == uint32_t(link))
    addGlobal(counters + 1, 1u);
  storeGlobal(times + 2 * link, start);
  storeGlobal(times + 2 * link + 1, globalTime());
}

extern "C" __global__ void __launch_bounds__(384, 1)
    link(uint32_t *counters, uint64_t *times, int64_t number, int64_t links) {
  if (threadIndex() == 0 && blockIndex() == 0)
    writeLink(counters, times, number, links, globalTime());
}

/// For a launch that may begin before the one before it has ended: the next one may begin at once, and nothing is
/// touched before the wait.
extern "C" __global__ void __launch_bounds__(384, 1)
    dependentLink(uint32_t *counters, uint64_t *times, int64_t number, int64_t links) {
  allowDependents();
  waitPredecessors();
  if (threadIndex() == 0 && blockIndex() == 0)
    writeLink(counters, times, number, links, globalTime());
}
