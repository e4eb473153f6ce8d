// C = A * B^T for each swizzle width: one warpgroup loads, multiplies, stages the result in shared memory and stores it
// by TMA while the next tile is loaded.
#include "device.cuh"
using namespace moe;

template <int kWidth> struct StagedConfig {
  static constexpr int width = kWidth, tileM = 64, tileN = 64, tileK = kWidth / 2, stages = 2;
  static constexpr int bytesA = tileM * width, bytesB = tileN * width, bytesC = tileM * tileN * 2;
  static constexpr int offsetB = stages * bytesA, offsetC = offsetB + stages * bytesB;
  static constexpr int offsetFull = offsetC + bytesC;
};

MOE_DEVICE void multiplyBy(Bf16, Accumulators<64> &d, uint64_t a, uint64_t b, bool accumulate) {
  wgmmaBf16(d, a, b, accumulate);
}
MOE_DEVICE void multiplyBy(F16, Accumulators<64> &d, uint64_t a, uint64_t b, bool accumulate) {
  wgmmaF16(d, a, b, accumulate);
}
MOE_DEVICE uint32_t packAs(Bf16, float low, float high) { return packBf16(low, high); }
MOE_DEVICE uint32_t packAs(F16, float low, float high) { return packF16(low, high); }

template <typename C>
MOE_DEVICE void load(const CUtensorMap *mapA, const CUtensorMap *mapB, SharedAddress shared, int stage, int k, int row,
                     int column) {
  const SharedAddress barrier = shared + C::offsetFull + stage * 8;
  arriveExpect(barrier, C::bytesA + C::bytesB);
  loadTile2d(shared + stage * C::bytesA, mapA, barrier, k, row);
  loadTile2d(shared + C::offsetB + stage * C::bytesB, mapB, barrier, k, column);
}

template <typename C, typename T>
MOE_DEVICE void stagedGemm(const CUtensorMap *mapA, const CUtensorMap *mapB, const CUtensorMap *mapC, int m, int n,
                           int k) {
  const SharedAddress shared = dynamicShared(), staging = shared + C::offsetC;
  const int thread = threadIndex(), columns = ceilDiv(n, C::tileN), tiles = ceilDiv(m, C::tileM) * columns;
  if (thread == 0) {
    for (int i = 0; i < C::stages; ++i)
      initBarrier(shared + C::offsetFull + i * 8, 1);
    fenceBarrierInit();
  }
  syncBlock();
  Ring ring;
  for (int tile = blockIndex(); tile < tiles; tile += blockCount()) {
    const int row = tile / columns * C::tileM, column = tile % columns * C::tileN;
    Accumulators<C::tileN> d;
    if (thread == 0)
      load<C>(mapA, mapB, shared, ring.stage, 0, row, column);
    for (int kk = 0; kk < k; kk += C::tileK) {
      const int next = (ring.stage + 1) % C::stages;
      if (thread == 0 && kk + C::tileK < k)
        load<C>(mapA, mapB, shared, next, kk + C::tileK, row, column);
      wait(shared + C::offsetFull + ring.stage * 8, ring.parity);
      const uint64_t a = matrixDescriptor(shared + ring.stage * C::bytesA, C::width);
      const uint64_t b = matrixDescriptor(shared + C::offsetB + ring.stage * C::bytesB, C::width);
      wgmmaFence();
#pragma unroll
      for (int i = 0; i < C::tileK / 16; ++i)
        multiplyBy(T(), d, advanceK(a, i * 32), advanceK(b, i * 32), kk + i > 0);
      wgmmaCommit();
      wgmmaWait<0>(d);
      syncBlock(); // the stage is free
      advance<C::stages>(ring);
    }
    if (thread == 0)
      waitTileStoresRead<0>(); // the tile before has left the staging memory
    syncBlock();
#pragma unroll
    for (int i = 0; i < C::tileN / 2; i += 2) {
      const SharedAddress to = staging + fragmentRow(thread, i) * (C::tileN * 2) + fragmentColumn(thread, i) * 2;
      storeShared(swizzle(to, 128), packAs(T(), get(d, i), get(d, i + 1)));
    }
    fenceProxyAsync();
    syncBlock();
    if (thread == 0) {
      storeTile2d(mapC, staging, column, row);
      commitTileStores();
    }
  }
  if (thread == 0)
    waitTileStoresRead<0>();
}

extern "C" __global__ void __launch_bounds__(128)
    staged32(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
             const __grid_constant__ CUtensorMap mapC, int m, int n, int k) {
  stagedGemm<StagedConfig<32>, Bf16>(&mapA, &mapB, &mapC, m, n, k);
}
extern "C" __global__ void __launch_bounds__(128)
    staged64(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
             const __grid_constant__ CUtensorMap mapC, int m, int n, int k) {
  stagedGemm<StagedConfig<64>, Bf16>(&mapA, &mapB, &mapC, m, n, k);
}
extern "C" __global__ void __launch_bounds__(128)
    staged128(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
              const __grid_constant__ CUtensorMap mapC, int m, int n, int k) {
  stagedGemm<StagedConfig<128>, Bf16>(&mapA, &mapB, &mapC, m, n, k);
}
extern "C" __global__ void __launch_bounds__(128)
    staged64F16(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
                const __grid_constant__ CUtensorMap mapC, int m, int n, int k) {
  stagedGemm<StagedConfig<64>, F16>(&mapA, &mapB, &mapC, m, n, k);
}
