// Virtual ranks of one launch exchange rows: blocks [r * perRank, (r + 1) * perRank) play rank r. The first of them
// sends, the others receive: put, signal, wait. Senders never wait, every wait has a deadline, and a rank that sends
// nothing ends in a status word on each of the others.
#include "device.cuh"
using namespace moe;

constexpr int kRowsPerTile = 16;

struct Exchange {
  const uint4 *rows;         // [ranks, count, vectors]: what each rank sends
  uint4 *windows;            // [ranks, count, vectors]: where each rank receives
  uint32_t *counters;        // [ranks, tiles]: rows that have arrived; never reset
  const uint32_t *want;      // what each counter must reach in this epoch
  uint32_t *sums;            // [ranks, tiles]: of all words of a tile
  uint32_t *status;          // [ranks]: 1 + tile of the first wait that failed
  const uint32_t *abortWord; // not zero: every wait ends
  uint64_t nanoseconds;      // how long a wait may take
  int ranks, perRank, count, vectors, silent;
};

/// Row i goes to rank i % ranks, behind the rows of the ranks before this one.
MOE_DEVICE void send(const Exchange &x, int rank) {
  const int lane = threadIndex() % 32, warps = threadCount() / 32, share = x.count / x.ranks;
  for (int i = threadIndex() / 32; i < x.count; i += warps) {
    const int to = i % x.ranks, slot = rank * share + i / x.ranks;
    uint4 *target = x.windows + (int64_t(to) * x.count + slot) * x.vectors;
    const uint4 *source = x.rows + (int64_t(rank) * x.count + i) * x.vectors;
    for (int v = lane; v < x.vectors; v += 32)
      storeGlobal(target + v, loadGlobal(source + v));
    syncWarp();
    if (lane == 0)
      addRelease(x.counters + to * (x.count / kRowsPerTile) + slot / kRowsPerTile, 1u);
  }
}

/// Returns false, in all threads, if the tile did not come in time.
MOE_DEVICE bool await(const Exchange &x, int rank, int tile, SharedAddress word) {
  const int counter = rank * (x.count / kRowsPerTile) + tile;
  if (threadIndex() == 0) {
    const Wait arrived = waitCounter(x.counters + counter, loadGlobal(x.want), x.abortWord, x.nanoseconds);
    if (arrived != Wait::Ready)
      compareExchangeRelease(x.status + rank, 0u, 1u + uint32_t(tile));
    storeShared(word, uint32_t(arrived == Wait::Ready));
  }
  syncBlock();
  const bool ready = loadShared<uint32_t>(word) != 0;
  syncBlock();
  return ready;
}

MOE_DEVICE void receive(const Exchange &x, int rank, int block, SharedAddress word) {
  const int tiles = x.count / kRowsPerTile;
  for (int tile = block; tile < tiles; tile += x.perRank - 1) {
    if (!await(x, rank, tile, word))
      continue;
    const uint4 *rows = x.windows + (int64_t(rank) * x.count + tile * kRowsPerTile) * x.vectors;
    uint32_t sum = 0;
    for (int v = threadIndex(); v < kRowsPerTile * x.vectors; v += threadCount()) {
      const uint4 value = loadGlobal(rows + v);
      sum += value.x + value.y + value.z + value.w;
    }
    for (int distance = 16; distance > 0; distance /= 2)
      sum += shuffleXor(sum, distance);
    if (threadIndex() % 32 == 0)
      addGlobal(x.sums + rank * tiles + tile, sum);
  }
}

extern "C" __global__ void __launch_bounds__(128, 1) exchangeRows(const __grid_constant__ Exchange x) {
  const int rank = blockIndex() / x.perRank, block = blockIndex() % x.perRank;
  if (block > 0)
    receive(x, rank, block - 1, dynamicShared());
  else if (rank != x.silent)
    send(x, rank);
}
