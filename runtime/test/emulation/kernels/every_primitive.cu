// Calls every function of the device library: compiles for both sides, is never launched.
#include "device.cuh"
using namespace moe;

MOE_DEVICE float everyFunctionOfFloats(float x, float y) {
  x = moe::exp(x) + moe::log(x) + moe::tanh(x) + moe::erf(x) + moe::sin(x) + moe::cos(x);
  x += moe::sqrt(y) + moe::rsqrt(y) + moe::abs(y) + moe::floor(y) + moe::ceil(y) + moe::fma(x, y, x);
  x += moe::expm1(x) + moe::log1p(y) + moe::pow(x, y) + moe::fmod(x, y) + float(bitsOf(x));
  x += exp2Approximate(y) + reciprocalApproximate(y);
  x += maximum(x, y) + minimum(x, y) + maximumNumber(x, y) + minimumNumber(x, y);
  x += toFloat(fromFloat<Bf16>(x)) + toFloat(fromFloat<F16>(y)) + toFloat(fromFloat<float>(x));
  return x + lowBf16(packBf16(x, y)) + highBf16(packBf16(y, x)) + lowF16(packF16(x, y)) + highF16(packF16(y, x));
}

extern "C" __global__ void __launch_bounds__(256, 1)
    everyPrimitive(const __grid_constant__ CUtensorMap map, float *p, uint32_t *words, const uint4 *weights) {
  const SharedAddress shared = dynamicShared(), barrier = shared + 4096;
  const int thread = threadIndex() + blockIndex() * threadCount() + blockCount();
  storeShared(shared, float(thread));
  storeShared(shared + 8, uint64_t(thread));
  storeShared(shared + 16, loadStreamed(weights));
  addShared(shared + 4, uint32_t(loadShared<uint64_t>(shared + 8)) + loadShared<uint4>(shared + 16).x);
  initBarrier(barrier, 1);
  fenceBarrierInit();
  syncBlock();
  syncNamed(1, 128);
  syncWarp();
  fenceProxyAsync();
  fenceProxyAsyncShared();
  arriveExpect(barrier, 1024);
  arrive(barrier);
  loadTile2d(shared, &map, barrier, 0, 0);
  while (!tryWait(barrier, 0))
    wait(barrier, 0);
  storeTile2d(&map, shared, 0, 0);
  commitTileStores();
  waitTileStoresRead<1>();
  waitTileStores<0>();
  copyAsync(shared + 32, weights, 16);
  commitCopies();
  waitCopies<1>();
  waitCopies<0>();
  arriveWhenCopied(barrier);
  decreaseRegisters<40>();
  increaseRegisters<232>();
  float x = everyFunctionOfFloats(loadGlobal(p), loadShared<float>(shared));
  x = shuffleXor(x, 1) + shuffleUp(x, 1) + broadcast(x, 0) + float(ballotWarp(x > 0)) +
      float(countBits(matchWarp(x)));
  addGlobal(words, 1u);
  storeRelease(words, 1u);
  addRelease(words, addAcquireRelease(words, 1u));
  addReleaseDevice(words, 1u);
  compareExchangeRelease(words, loadAcquire(words + 1), uint32_t(waitCounter(words, 1, words + 1, globalTime())));
  backOff();
  waitPredecessors();
  allowDependents();
  addGlobal(words, uint32_t(cycleCount()) + uint32_t(multiprocessor()));
  storeGlobal(p, x + INFINITY + NAN);
}

template <int kN> MOE_DEVICE void everyWgmma(float *p, uint64_t a, uint64_t b) {
  Accumulators<kN> d;
#pragma unroll
  for (int i = 0; i < kN / 2; ++i)
    set(d, i, 0);
  wgmmaFence();
  wgmmaBf16(d, a, b, false);
  wgmmaCommit();
  wgmmaF16(d, a, b, true);
  wgmmaCommit();
  wgmmaWait<1>();
  wgmmaWait<0>(d);
#pragma unroll
  for (int i = 0; i < kN / 2; ++i)
    storeGlobal(p + fragmentRow(threadIndex(), i) * kN + fragmentColumn(threadIndex(), i), get(d, i));
}

extern "C" __global__ void __launch_bounds__(128) everyShape(float *p) {
  const uint64_t a = matrixDescriptor(dynamicShared(), 128), b = matrixDescriptor(dynamicShared() + 8192, 128);
  everyWgmma<8>(p, a, b);
  everyWgmma<16>(p, a, b);
  everyWgmma<24>(p, a, b);
  everyWgmma<32>(p, a, b);
  everyWgmma<40>(p, a, b);
  everyWgmma<48>(p, a, b);
  everyWgmma<56>(p, a, b);
  everyWgmma<64>(p, a, b);
  everyWgmma<80>(p, a, b);
  everyWgmma<96>(p, a, b);
  everyWgmma<112>(p, a, b);
  everyWgmma<128>(p, a, b);
  everyWgmma<160>(p, a, b);
  everyWgmma<192>(p, a, b);
  everyWgmma<224>(p, a, b);
  everyWgmma<256>(p, a, b);
}
