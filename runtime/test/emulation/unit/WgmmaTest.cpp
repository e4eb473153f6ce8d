//===- WgmmaTest.cpp - products of a warpgroup --------------------------------------------------------------------===//

#include "Launching.h"

using namespace moe;

static const Options kOptions{.threads = 128, .sharedBytes = 65536};

/// 64 x 64 elements at 0x400 and N x 64 behind them, K-major with rows of 128 bytes: A[r][k] = r + k, B[c][k] = c - k,
/// modulo 8.
static int elementA(int r, int k) { return (r + k) % 8; }
static int elementB(int c, int k) { return (c + 7 * k) % 8; }
static constexpr SharedAddress kA = 0x400, kB = kA + 64 * 128;

template <uint32_t (*kPack)(float, float)> static void fill(int columns) {
  for (int i = threadIndex(); i < (64 + columns) * 32; i += 128) {
    const int row = i / 32, k = i % 32 * 2;
    auto element = [&](int kk) { return float(row < 64 ? elementA(row, kk) : elementB(row - 64, kk)); };
    storeShared(swizzle(kA + i * 4, 128), kPack(element(k), element(k + 1)));
  }
  fenceProxyAsync();
  syncBlock();
}

template <int kN> static void expectProduct(Accumulators<kN> &d, int steps) {
  for (int i = 0; i < kN / 2; ++i) {
    int sum = 0;
    for (int k = 0; k < steps * 16; ++k)
      sum += elementA(fragmentRow(threadIndex(), i), k) * elementB(fragmentColumn(threadIndex(), i), k);
    EXPECT_EQ(get(d, i), float(sum));
  }
}

template <int kN> static void multiply() {
  EXPECT_CLEAN(kOptions, [] {
    fill<packBf16>(kN);
    Accumulators<kN> d;
    wgmmaFence();
    for (int k = 0; k < 4; ++k)
      wgmmaBf16(d, advanceK(matrixDescriptor(kA, 128), k * 32), advanceK(matrixDescriptor(kB, 128), k * 32), k > 0);
    wgmmaCommit();
    wgmmaWait<0>(d);
    expectProduct(d, 4);
  });
}

TEST(Wgmma, Shapes) {
  multiply<8>();
  multiply<40>();
  multiply<64>();
  multiply<256>();
}

TEST(Wgmma, F16) {
  EXPECT_CLEAN(kOptions, [] {
    fill<packF16>(16);
    Accumulators<16> d;
    wgmmaFence();
    wgmmaF16(d, matrixDescriptor(kA, 128), matrixDescriptor(kB, 128), false);
    wgmmaCommit();
    wgmmaWait<0>(d);
    expectProduct(d, 1);
  });
}

TEST(Wgmma, AddsToAccumulatorsThatWereSet) {
  EXPECT_CLEAN(kOptions, [] {
    fill<packBf16>(8);
    Accumulators<8> d;
    for (int i = 0; i < 4; ++i)
      set(d, i, 100);
    wgmmaFence();
    wgmmaBf16(d, matrixDescriptor(kA, 128), matrixDescriptor(kB, 128), true);
    wgmmaCommit();
    wgmmaWait<0>(d);
    for (int i = 0; i < 4; ++i)
      set(d, i, get(d, i) - 100);
    expectProduct(d, 1);
  });
}

TEST(Wgmma, Misuse) {
  const uint64_t a = matrixDescriptor(kA, 128), b = matrixDescriptor(kB, 128);
  EXPECT_FAULT(kOptions, "before the first wgmma.fence", [=] {
    fill<packBf16>(8);
    Accumulators<8> d;
    wgmmaBf16(d, a, b, false);
  });
  EXPECT_FAULT(kOptions, "accessed after the last wgmma.fence", [=] {
    fill<packBf16>(8);
    Accumulators<8> d;
    wgmmaFence();
    set(d, 0, 1);
    wgmmaBf16(d, a, b, true);
  });
  EXPECT_FAULT(kOptions, "that was never written", [=] {
    Accumulators<8> d;
    wgmmaFence();
    wgmmaBf16(d, a, b, false);
  });
  EXPECT_FAULT(kOptions, "accumulator accessed while a wgmma on it is in flight", [=] {
    fill<packBf16>(8);
    Accumulators<8> d;
    wgmmaFence();
    wgmmaBf16(d, a, b, false);
    get(d, 0);
  });
  EXPECT_FAULT(kOptions, "goes out of scope", [=] {
    fill<packBf16>(8);
    Accumulators<8> d;
    wgmmaFence();
    wgmmaBf16(d, a, b, false);
    wgmmaCommit();
  });
  EXPECT_FAULT(kOptions, "reserved bits are set", [=] {
    fill<packBf16>(8);
    Accumulators<8> d;
    wgmmaFence();
    wgmmaBf16(d, a | uint64_t(1) << 14, b, false);
  });
  EXPECT_FAULT(kOptions, "disagree about a wgmma", [=] {
    fill<packBf16>(8);
    Accumulators<8> d;
    wgmmaFence();
    wgmmaBf16(d, a, b, threadIndex() == 0);
    wgmmaCommit();
    wgmmaWait<0>(d);
  });
  EXPECT_FAULT((Options{.threads = 160, .sharedBytes = 65536}), "outside a complete warpgroup", [=] {
    Accumulators<8> d;
    wgmmaFence();
    if (threadIndex() >= 128)
      wgmmaBf16(d, a, b, false);
  });
}
