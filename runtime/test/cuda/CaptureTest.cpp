//===- CaptureTest.cpp - runs of a session as CUDA graphs ---------------------------------------------------------===//
//
// On values of the GPU a run only launches. The fake refuses while it captures what a stream that is captured refuses.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TwoKernels.h"

#include <gtest/gtest.h>

using namespace moert;

namespace {

/// A session on the values and the stream of its caller.
struct Capture {
  Capture() : session(kernels, onValuesOfTheGpu(&stream)) {
    cuda.execute = executeTwoKernels;
    cuda.slots = {{"scale", 4}, {"count", 3}};
  }
  const float *output() {
    moert_tensor y;
    return moert_session_output(session.session, 0, &y) ? nullptr : static_cast<const float *>(y.data);
  }

  FakeCuda cuda;
  TwoKernels kernels;
  int stream = 0;
  TestSession session;
};

constexpr const char *kAdvice =
    "this cannot be captured in a graph; run the session once with the same sizes before the capture (a graph holds no "
    "copies or reads by the host) (cudaErrorOfTest)";

TEST(CudaCapture, OfARepeatedRunHasItsLaunchesAndNothingElse) {
  Capture c;
  ASSERT_EQ(c.session.run(8), "");
  c.cuda.take();
  c.cuda.beginCapture();
  ASSERT_EQ(c.session.run(8), "");
  ASSERT_TRUE(c.cuda.endCapture());
  EXPECT_EQ(c.cuda.take(), (std::vector<std::string>{"launch scale grid=8 block=128 shared=0 on another stream",
                                                     "encode plain type=9 8x64 stride=128 box=8x32 swizzle=2",
                                                     "encode plain type=7 1x4 stride=16 box=1x4 swizzle=0",
                                                     "launch count grid=1 block=384 shared=2000 on another stream"}));
  ASSERT_EQ(c.cuda.graph.size(), 2u);
}

TEST(CudaCapture, ReplaysComputeFromTheInputInPlace) {
  Capture c;
  ASSERT_EQ(c.session.run(8), "");
  const float *y = c.output();
  std::vector<float> first(y, y + 32);
  c.cuda.beginCapture();
  ASSERT_EQ(c.session.run(8), "");
  ASSERT_TRUE(c.cuda.endCapture());
  ASSERT_EQ(c.output(), y); // known before the graph has run, and the same in each replay
  for (int replay = 0; replay < 100; ++replay) {
    for (int i = 0; i < 32; ++i)
      c.session.x[i] = static_cast<float>(replay + i);
    c.cuda.replay();
    for (int i = 4; i < 32; ++i) // x[i] was i
      ASSERT_FLOAT_EQ(y[i], first[i] / static_cast<float>(i) * static_cast<float>(replay + i));
  }
  // The state has counted the warm-up and the replays, and no captured run.
  const auto *calls = reinterpret_cast<const int64_t *>(c.cuda.graph[1].values[0]);
  EXPECT_EQ(*calls, 101);
  // The session runs as before.
  EXPECT_EQ(c.session.run(8), "");
  EXPECT_EQ(*calls, 102);
}

TEST(CudaCapture, OfAFirstRunIsRefusedAndLeavesTheSessionUsable) {
  Capture c;
  c.cuda.beginCapture();
  EXPECT_EQ(c.session.run(8), std::string("cuda:0 (Fake): reserving memory: ") + kAdvice);
  EXPECT_EQ(c.session.code, 1);
  EXPECT_FALSE(c.cuda.endCapture());
  EXPECT_EQ(c.session.run(8), "");
}

TEST(CudaCapture, OfARunThatNeedsMoreMemoryIsRefused) {
  Capture c;
  ASSERT_EQ(c.session.run(8), "");
  c.cuda.beginCapture();
  EXPECT_EQ(c.session.run(4), "");
  EXPECT_TRUE(c.cuda.endCapture());
  c.cuda.beginCapture();
  EXPECT_EQ(c.session.run(9), std::string("cuda:0 (Fake): giving memory back: ") + kAdvice);
  EXPECT_FALSE(c.cuda.endCapture());
  // Nothing was given back on the way: what was captured before still finds its memory.
  EXPECT_EQ(c.session.run(8), "");
  EXPECT_EQ(c.session.run(9), "");
}

TEST(CudaCapture, OfARunThatCopiesIsRefused) {
  FakeCuda cuda;
  TwoKernels kernels;
  int stream;
  moert_session_options options = {};
  options.stream = &stream;
  TestSession s(kernels, options);
  ASSERT_EQ(s.run(8), "");
  cuda.beginCapture();
  EXPECT_EQ(s.run(8), std::string("cuda:0 (Fake): copying to it: ") + kAdvice);
  EXPECT_FALSE(cuda.endCapture());
  EXPECT_EQ(s.run(8), "");
}

} // namespace
