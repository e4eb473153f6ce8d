//===- PageLockedTest.cpp - large outputs arrive in memory of the host that is locked ------------------------------===//

#include "TwoKernels.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace moert;

namespace {

constexpr int64_t kRows = 1 << 16; // of four floats: a megabyte

/// A session whose inputs are as large as its test wants.
struct Large {
  explicit Large(moert_session_options options = {}) : session(kernels, options), x(2 * kRows * 4 + 16, 3.0f) {
    cuda.execute = executeTwoKernels;
    cuda.take();
  }
  std::string run(int64_t rows) {
    const int64_t sizes[2] = {rows, 4};
    auto *data = reinterpret_cast<float *>((reinterpret_cast<uintptr_t>(x.data()) + 63) / 64 * 64);
    int32_t code = moert_session_set_input(session.session, 0, MOERT_F32, 2, sizes, data);
    return code || moert_session_run(session.session) ? session.error() : "";
  }
  const float *output() {
    moert_tensor y;
    return moert_session_output(session.session, 0, &y) ? nullptr : static_cast<const float *>(y.data);
  }
  /// Calls whose names begin so.
  int64_t count(const std::vector<std::string> &calls, const std::string &name) {
    return std::count_if(calls.begin(), calls.end(), [&](const std::string &call) { return call.rfind(name, 0) == 0; });
  }

  FakeCuda cuda;
  TwoKernels kernels;
  TestSession session;
  std::vector<float> x;
};

TEST(CudaPageLocked, ALargeOutputArrivesWithoutAWait) {
  Large l;
  ASSERT_EQ(l.run(kRows), "");
  std::vector<std::string> calls = l.cuda.take();
  EXPECT_EQ(l.count(calls, "hostAlloc 1048576"), 1);
  EXPECT_EQ(l.count(calls, "mirror 1048576"), 1);
  EXPECT_EQ(l.count(calls, "download"), 0);
  const float *y = l.output();
  ASSERT_NE(y, nullptr);
  const float first = y[0];
  EXPECT_NE(first, 0.0f);
  EXPECT_EQ(y[4 * kRows - 4], first); // the same w, the same x
  // A repeated run takes no more of it.
  ASSERT_EQ(l.run(kRows), "");
  EXPECT_EQ(l.output(), y);
  calls = l.cuda.calls;
  EXPECT_EQ(l.count(calls, "hostAlloc"), 0);
  // Nothing is asked or awaited between the last launch and the copy.
  auto copy = std::find(calls.begin(), calls.end(), "mirror 1048576");
  ASSERT_NE(copy, calls.end());
  EXPECT_EQ(std::prev(copy)->rfind("launch count", 0), 0u) << *std::prev(copy);
}

TEST(CudaPageLocked, AnOutputThatIsAnInputIsCopied) {
  Large l;
  ASSERT_EQ(l.run(kRows), "");
  auto *y = const_cast<float *>(l.output());
  ASSERT_EQ(reinterpret_cast<uintptr_t>(y) % 64, 0u); // other data is copied in any case
  const float w = y[0] / 3.0f, first = y[0];
  const int64_t sizes[2] = {kRows, 4};
  ASSERT_EQ(moert_session_set_input(l.session.session, 0, MOERT_F32, 2, sizes, y), 0);
  y[0] = -1;
  ASSERT_EQ(moert_session_run(l.session.session), 0);
  EXPECT_FLOAT_EQ(l.output()[0], first * w);
}

TEST(CudaPageLocked, FewerRowsTakeWhatIsThereAndFewGoElsewhere) {
  Large l;
  ASSERT_EQ(l.run(2 * kRows), "");
  const float *y = l.output();
  l.cuda.take();
  ASSERT_EQ(l.run(kRows), "");
  EXPECT_EQ(l.output(), y);
  ASSERT_EQ(l.run(8), "");
  EXPECT_NE(l.output(), y);
  EXPECT_EQ(l.output()[31], l.output()[3]);
  ASSERT_EQ(l.run(2 * kRows), "");
  EXPECT_EQ(l.output(), y);
  EXPECT_EQ(y[8 * kRows - 4], y[0]);
  EXPECT_EQ(l.count(l.cuda.take(), "hostAlloc"), 0);
}

TEST(CudaPageLocked, FewRowsNeedNone) {
  Large l;
  ASSERT_EQ(l.run(kRows - 1), "");
  std::vector<std::string> calls = l.cuda.take();
  EXPECT_EQ(l.count(calls, "hostAlloc"), 0);
  EXPECT_EQ(l.count(calls, "download 1048560"), 1);
}

TEST(CudaPageLocked, ItGrowsAndIsGivenBack) {
  FakeCuda *cuda;
  {
    Large l;
    cuda = &l.cuda;
    ASSERT_EQ(l.run(kRows), "");
    ASSERT_EQ(l.run(2 * kRows), "");
    std::vector<std::string> calls = l.cuda.take();
    EXPECT_EQ(l.count(calls, "freeHost"), 1);
    EXPECT_EQ(l.count(calls, "hostAlloc 2097152"), 1);
    EXPECT_EQ(l.output()[0], l.output()[8 * kRows - 4]);
    moert_session_close(l.session.session);
    l.session.session = nullptr;
    EXPECT_EQ(cuda->blocksInUse(), 0u);
  }
}

TEST(CudaPageLocked, WithoutSuchMemoryOrdinaryMemoryDoes) {
  Large l;
  l.cuda.fail("hostAlloc", cudaErrorMemoryAllocation);
  ASSERT_EQ(l.run(kRows), "");
  EXPECT_EQ(l.count(l.cuda.take(), "download 1048576"), 1);
  EXPECT_NE(l.output()[0], 0.0f);
}

TEST(CudaPageLocked, AKernelThatHangsIsNotAwaitedForEver) {
  moert_session_options options = {};
  options.deadline_ms = 200;
  Large l(options);
  ASSERT_EQ(l.run(kRows), "");
  l.cuda.hanging = "count";
  // The copy is behind the kernel in the stream; a larger output would move its memory, which CUDA waits for.
  EXPECT_NE(l.run(2 * kRows), "");
  EXPECT_EQ(l.count(l.cuda.take(), "freeHost"), 0);
  l.cuda.endHanging();
  l.cuda.hanging.clear();
  EXPECT_EQ(l.run(kRows), "");
}

TEST(CudaPageLocked, WhatIsLateIsLeftToTheProcess) {
  moert_session_options options = {};
  options.deadline_ms = 200;
  FakeCuda *cuda;
  Large l(options);
  cuda = &l.cuda;
  ASSERT_EQ(l.run(kRows), "");
  cuda->take();
  cuda->hanging = "count";
  EXPECT_NE(l.run(kRows), ""); // the copy waits behind the kernel
  moert_session_close(l.session.session);
  l.session.session = nullptr;
  EXPECT_EQ(l.count(cuda->take(), "freeHost"), 0);
  cuda->endHanging();
}

TEST(CudaPageLocked, AnErrorThatIsNotOfMemoryIsOne) {
  Large l;
  l.cuda.fail("hostAlloc", cudaErrorNotSupported);
  EXPECT_NE(l.run(kRows).find("reserving memory of the host"), std::string::npos);
}

} // namespace
