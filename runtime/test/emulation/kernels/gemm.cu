// C = A * B^T in bf16 with f32 sums: persistent and warp-specialised. Warpgroup 0 loads by TMA, warpgroups 1 and 2
// multiply. The first `sending.blocks` blocks play another rank: they write rows of A and count them per tile.
#include "device.cuh"
using namespace moe;

struct GemmConfig {
  static constexpr int tileM = 128, tileN = 256, tileK = 64, stages = 4, width = 128;
  static constexpr int bytesA = tileM * tileK * 2, bytesB = tileN * tileK * 2;
  static constexpr int offsetB = stages * bytesA, offsetFull = offsetB + stages * bytesB;
  static constexpr int offsetEmpty = offsetFull + stages * 8, offsetStop = offsetEmpty + stages * 8;
};

/// How the rows of A arrive: a counter per tile of rows, and what it must reach.
struct Arrivals {
  const uint32_t *counters, *want, *abortWord;
  uint32_t *status; // of the first wait that fails: 1 aborted, 2 timed out
  uint64_t nanoseconds;
};

struct Sending {
  const uint4 *rows;
  uint4 *window;
  uint32_t *counters;
  const int *slots;           // row of the window for each row
  int blocks, count, vectors; // 16-byte vectors per row
};

template <typename C> MOE_DEVICE void sendRows(const Sending &sending) {
  const int lane = threadIndex() % 32, warps = threadCount() / 32;
  for (int i = blockIndex() * warps + threadIndex() / 32; i < sending.count; i += sending.blocks * warps) {
    const int slot = loadGlobal(sending.slots + i);
    uint4 *to = sending.window + uint64_t(slot) * sending.vectors;
    const uint4 *from = sending.rows + uint64_t(i) * sending.vectors;
#pragma unroll 4
    for (int v = lane; v < sending.vectors; v += 32)
      storeGlobal(to + v, loadGlobal(from + v));
    syncWarp();
    if (lane == 0)
      addRelease(sending.counters + slot / C::tileM, 1u);
  }
}

/// The tiles of this block.
struct Tiles {
  int first, stride, count, columns, steps;
};

template <typename C> MOE_DEVICE Tiles tilesOf(int m, int n, int k, int sendBlocks) {
  const int columns = ceilDiv(n, C::tileN);
  return {blockIndex() - sendBlocks, blockCount() - sendBlocks, ceilDiv(m, C::tileM) * columns, columns,
          ceilDiv(k, C::tileK)};
}

/// One thread. After an abort or a time-out it completes one last phase without data, with the stop word set.
template <typename C>
MOE_DEVICE void produce(const CUtensorMap *mapA, const CUtensorMap *mapB, const Tiles &tiles, const Arrivals &arrivals,
                        SharedAddress shared) {
  const SharedAddress full = shared + C::offsetFull, empty = shared + C::offsetEmpty;
  Ring ring;
  for (int tile = tiles.first; tile < tiles.count; tile += tiles.stride) {
    const int m = tile / tiles.columns, n = tile % tiles.columns;
    const Wait arrived =
        waitCounter(arrivals.counters + m, loadGlobal(arrivals.want + m), arrivals.abortWord, arrivals.nanoseconds);
    if (arrived != Wait::Ready) {
      storeShared(shared + C::offsetStop, 1u);
      compareExchangeRelease(arrivals.status, 0u, arrived == Wait::Aborted ? 1u : 2u);
      wait(empty + ring.stage * 8, ring.parity ^ 1);
      arrive(full + ring.stage * 8);
      return;
    }
    fenceProxyAsync(); // the rows were written by ordinary stores, TMA reads them
    for (int k = 0; k < tiles.steps; ++k) {
      const SharedAddress barrier = full + ring.stage * 8;
      wait(empty + ring.stage * 8, ring.parity ^ 1);
      arriveExpect(barrier, C::bytesA + C::bytesB);
      loadTile2d(shared + ring.stage * C::bytesA, mapA, barrier, k * C::tileK, m * C::tileM);
      loadTile2d(shared + C::offsetB + ring.stage * C::bytesB, mapB, barrier, k * C::tileK, n * C::tileN);
      advance<C::stages>(ring);
    }
  }
}

template <typename C>
MOE_DEVICE void storeTile(Bf16 *c, int m, int n, Accumulators<C::tileN> &d, int firstRow, int firstColumn) {
#pragma unroll
  for (int i = 0; i < C::tileN / 2; i += 2) {
    const int row = firstRow + fragmentRow(threadIndex(), i), column = firstColumn + fragmentColumn(threadIndex(), i);
    if (row < m && column < n)
      storeGlobal(reinterpret_cast<uint32_t *>(c + uint64_t(row) * n + column), packBf16(get(d, i), get(d, i + 1)));
  }
}

/// One warpgroup: `half` of the rows of every tile. One group of products stays in flight; a stage is released a step
/// later.
template <typename C>
MOE_DEVICE void consume(const Tiles &tiles, Bf16 *c, int m, int n, SharedAddress shared, int half) {
  const SharedAddress full = shared + C::offsetFull, empty = shared + C::offsetEmpty;
  const bool leader = threadIndex() % 32 == 0;
  Ring ring;
  for (int tile = tiles.first; tile < tiles.count; tile += tiles.stride) {
    wait(full + ring.stage * 8, ring.parity);
    // Only the leader reads, so that its arrival below tells the producer that the word has been read.
    if (broadcast(leader ? loadShared<uint32_t>(shared + C::offsetStop) : 0u, 0))
      return;
    Accumulators<C::tileN> d;
    int previous = 0;
    for (int k = 0; k < tiles.steps; ++k) {
      wait(full + ring.stage * 8, ring.parity);
      const uint64_t a = matrixDescriptor(shared + ring.stage * C::bytesA + half * (C::bytesA / 2), C::width);
      const uint64_t b = matrixDescriptor(shared + C::offsetB + ring.stage * C::bytesB, C::width);
      wgmmaFence();
#pragma unroll
      for (int kk = 0; kk < C::tileK / 16; ++kk)
        wgmmaBf16(d, advanceK(a, kk * 32), advanceK(b, kk * 32), k + kk > 0);
      wgmmaCommit();
      if (k > 0) {
        wgmmaWait<1>();
        if (leader)
          arrive(empty + previous * 8);
      }
      previous = ring.stage;
      advance<C::stages>(ring);
    }
    wgmmaWait<0>(d);
    if (leader)
      arrive(empty + previous * 8);
    storeTile<C>(c, m, n, d, tile / tiles.columns * C::tileM + half * 64, tile % tiles.columns * C::tileN);
  }
}

extern "C" __global__ void __launch_bounds__(384, 1)
    gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, Bf16 *c, int m, int n,
         int k, const __grid_constant__ Arrivals arrivals, const __grid_constant__ Sending sending) {
  using C = GemmConfig;
  const SharedAddress shared = dynamicShared();
  if (blockIndex() < sending.blocks) {
    sendRows<C>(sending);
    return;
  }
  if (threadIndex() == 0) {
    for (int i = 0; i < C::stages; ++i) {
      initBarrier(shared + C::offsetFull + i * 8, 1);
      initBarrier(shared + C::offsetEmpty + i * 8, 8); // every warp that multiplies
    }
    fenceBarrierInit();
    storeShared(shared + C::offsetStop, 0u);
  }
  syncBlock();
  const Tiles tiles = tilesOf<C>(m, n, k, sending.blocks);
  if (threadIndex() < 128) {
    decreaseRegisters<40>();
    if (threadIndex() == 0)
      produce<C>(&mapA, &mapB, tiles, arrivals, shared);
  } else {
    increaseRegisters<232>();
    consume<C>(tiles, c, m, n, shared, threadIndex() / 128 - 1);
  }
}
