// C[i] = A[rows[i]] * B^T in bf16: the loader gathers rows into the swizzled tile, by ordinary loads and stores or by
// asynchronous copies; B comes by TMA.
#include "device.cuh"
using namespace moe;

struct GatherConfig {
  static constexpr int tileM = 128, tileN = 128, tileK = 64, stages = 2, loaders = 128, width = 128;
  static constexpr int bytesA = tileM * tileK * 2, bytesB = tileN * tileK * 2;
  static constexpr int offsetB = stages * bytesA, offsetFull = offsetB + stages * bytesB;
  static constexpr int offsetEmpty = offsetFull + stages * 8;
};

/// One warpgroup; each thread owns a row of the tile.
template <typename C>
MOE_DEVICE void gather(const CUtensorMap *mapB, const Bf16 *a, const int *rows, int m, int k, int firstRow,
                       int firstColumn, SharedAddress shared) {
  const int thread = threadIndex(), row = firstRow + thread;
  const Bf16 *from = row < m ? a + uint64_t(loadGlobal(rows + row)) * k : nullptr;
  Ring ring;
  for (int kk = 0; kk < k; kk += C::tileK) {
    const SharedAddress full = shared + C::offsetFull + ring.stage * 8;
    const SharedAddress to = shared + ring.stage * C::bytesA + thread * C::width;
    wait(shared + C::offsetEmpty + ring.stage * 8, ring.parity ^ 1);
    if (thread == 0) {
      arriveExpect(full, C::bytesB);
      loadTile2d(shared + C::offsetB + ring.stage * C::bytesB, mapB, full, kk, firstColumn);
    }
#pragma unroll
    for (int i = 0; i < C::tileK; i += 8) {
      const bool inside = from && kk + i < k;
      storeShared(swizzle(to + i * 2, C::width),
                  inside ? loadGlobal(reinterpret_cast<const uint4 *>(from + kk + i)) : uint4{0, 0, 0, 0});
    }
    fenceProxyAsyncShared();
    arrive(full);
    advance<C::stages>(ring);
  }
}

/// The same by copies that arrive when they have landed: the thread is several stages ahead and never waits for them.
/// K is a multiple of 8.
template <typename C>
MOE_DEVICE void gatherCopies(const CUtensorMap *mapB, const Bf16 *a, const int *rows, int m, int k, int firstRow,
                             int firstColumn, SharedAddress shared) {
  const int thread = threadIndex(), row = firstRow + thread;
  const Bf16 *from = row < m ? a + uint64_t(loadGlobal(rows + row)) * k : a;
  Ring ring;
  for (int kk = 0; kk < k; kk += C::tileK) {
    const SharedAddress full = shared + C::offsetFull + ring.stage * 8;
    const SharedAddress to = shared + ring.stage * C::bytesA + thread * C::width;
    wait(shared + C::offsetEmpty + ring.stage * 8, ring.parity ^ 1);
    if (thread == 0) {
      arriveExpect(full, C::bytesB);
      loadTile2d(shared + C::offsetB + ring.stage * C::bytesB, mapB, full, kk, firstColumn);
    }
#pragma unroll
    for (int i = 0; i < C::tileK; i += 8) {
      const bool inside = row < m && kk + i < k;
      copyAsync(swizzle(to + i * 2, C::width), from + (inside ? kk + i : 0), inside ? 16 : 0);
    }
    arriveWhenCopied(full);
    advance<C::stages>(ring);
  }
  commitCopies();
  waitCopies<0>(); // the thread stays until its copies have arrived
}

/// `kFence`: rows that were copied need a proxy fence of those who waited for them.
template <typename C, bool kFence>
MOE_DEVICE void multiply(Bf16 *c, int m, int n, int k, int firstRow, int firstColumn, SharedAddress shared, int half) {
  const int thread = threadIndex() % 128;
  Accumulators<C::tileN> d;
  Ring ring;
  for (int kk = 0; kk < k; kk += C::tileK) {
    wait(shared + C::offsetFull + ring.stage * 8, ring.parity);
    if constexpr (kFence)
      fenceProxyAsyncShared();
    const uint64_t a = matrixDescriptor(shared + ring.stage * C::bytesA + half * (C::bytesA / 2), C::width);
    const uint64_t b = matrixDescriptor(shared + C::offsetB + ring.stage * C::bytesB, C::width);
    wgmmaFence();
#pragma unroll
    for (int i = 0; i < C::tileK / 16; ++i)
      wgmmaBf16(d, advanceK(a, i * 32), advanceK(b, i * 32), kk + i > 0);
    wgmmaCommit();
    wgmmaWait<0>(d);
    if (thread % 32 == 0)
      arrive(shared + C::offsetEmpty + ring.stage * 8);
    advance<C::stages>(ring);
  }
#pragma unroll
  for (int i = 0; i < C::tileN / 2; i += 2) {
    const int row = firstRow + half * 64 + fragmentRow(thread, i), column = firstColumn + fragmentColumn(thread, i);
    if (row < m && column < n)
      storeGlobal(reinterpret_cast<uint32_t *>(c + uint64_t(row) * n + column), packBf16(get(d, i), get(d, i + 1)));
  }
}

/// A block per tile.
template <typename C, bool kCopies>
MOE_DEVICE void gatherGemm(const CUtensorMap *mapB, Bf16 *c, const Bf16 *a, const int *rows, int m, int n, int k) {
  const SharedAddress shared = dynamicShared();
  const int columns = ceilDiv(n, C::tileN);
  const int firstRow = blockIndex() / columns * C::tileM, firstColumn = blockIndex() % columns * C::tileN;
  if (threadIndex() == 0) {
    for (int i = 0; i < C::stages; ++i) {
      initBarrier(shared + C::offsetFull + i * 8, C::loaders + 1);
      initBarrier(shared + C::offsetEmpty + i * 8, 8);
    }
    fenceBarrierInit();
  }
  syncBlock();
  if (threadIndex() >= C::loaders)
    multiply<C, kCopies>(c, m, n, k, firstRow, firstColumn, shared, threadIndex() / 128 - 1);
  else if constexpr (kCopies)
    gatherCopies<C>(mapB, a, rows, m, k, firstRow, firstColumn, shared);
  else
    gather<C>(mapB, a, rows, m, k, firstRow, firstColumn, shared);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    gatherByStores(const __grid_constant__ CUtensorMap mapB, Bf16 *c, const Bf16 *a, const int *rows, int m, int n,
                   int k) {
  gatherGemm<GatherConfig, false>(&mapB, c, a, rows, m, n, k);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    gatherByCopies(const __grid_constant__ CUtensorMap mapB, Bf16 *c, const Bf16 *a, const int *rows, int m, int n,
                   int k) {
  gatherGemm<GatherConfig, true>(&mapB, c, a, rows, m, n, k);
}
