//===- RunTest.cpp - what a run on a GPU asks of CUDA -------------------------------------------------------------===//

#include "TwoKernels.h"
#include "core/RandomWeights.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace moert;

using Calls = std::vector<std::string>;

namespace {

TEST(CudaRun, LoadsTheCodeWhenItOpens) {
  FakeCuda cuda;
  TwoKernels kernels;
  {
    TestSession s(kernels);
    ASSERT_EQ(s.code, 0) << s.error();
    EXPECT_EQ(cuda.take(),
              (Calls{"streamCreate", "load cubin of scale", "load cubin of count", "setAttribute count 8 2000"}));
    EXPECT_EQ(moert_session_threads(s.session), 1);
    EXPECT_EQ(moert_session_program(s.session), &kernels.program);
  }
  EXPECT_EQ(cuda.take(), (Calls{"synchronize", "unload cubin of scale", "unload cubin of count", "streamDestroy"}));
}

TEST(CudaRun, CopiesLaunchesCopiesAndWaitsOnce) {
  FakeCuda cuda;
  cuda.execute = executeTwoKernels;
  TwoKernels kernels;
  TestSession s(kernels);
  cuda.take();
  ASSERT_EQ(s.run(8), "");
  // The parameter that no launch uses is not uploaded; the wait in the middle is for the weights made on the spot.
  EXPECT_EQ(cuda.take(), (Calls{"malloc 64", "memset 64",                 // the state
                                "malloc 128", "upload 128",               // x
                                "malloc 16", "upload 16", "synchronize",  // w
                                "malloc 128", "malloc 1000",              // y and scratch memory
                                "launch scale grid=8 block=128 shared=0", // 4 multiprocessors, two blocks each
                                "encode plain type=9 8x64 stride=128 box=8x32 swizzle=2",
                                "encode plain type=7 1x4 stride=16 box=1x4 swizzle=0",
                                "launch count grid=1 block=384 shared=2000", // one block stays one
                                "download 128", "synchronize"}));
  float w[4];
  fillRandom(1, "w", MOERT_F32, w, sizeof w);
  moert_tensor y;
  ASSERT_EQ(moert_session_output(s.session, 0, &y), 0);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(static_cast<const float *>(y.data)[i], s.x[i] * w[i % 4]);

  // Again: no memory, no weights, nothing to wait for but the end. Fewer rows need no more.
  ASSERT_EQ(s.run(5), "");
  EXPECT_EQ(cuda.take(), (Calls{"upload 80", "launch scale grid=8 block=128 shared=0",
                                "encode plain type=9 5x64 stride=128 box=8x32 swizzle=2",
                                "encode plain type=7 1x4 stride=16 box=1x4 swizzle=0",
                                "launch count grid=1 block=384 shared=2000", "download 80", "synchronize"}));
  // More rows: blocks move.
  ASSERT_EQ(s.run(9), "");
  std::vector<std::string> calls = cuda.take();
  EXPECT_EQ(calls[0], "free 128");
  EXPECT_EQ(calls[1], "malloc 144");
}

/// Its place is the number of a kernel, so a copy of the table is none.
TEST(CudaRun, RefusesAKernelOfAnotherTable) {
  FakeCuda cuda;
  TwoKernels kernels;
  const moert_kernel copy[] = {kernels.program.kernels[0], kernels.program.kernels[1]};
  kernels.program.kernels = copy;
  TestSession s(kernels);
  EXPECT_EQ(s.run(8), "kernel 'scale' is not in the program's table");
  EXPECT_EQ(s.code, 70);
  for (const std::string &call : cuda.take())
    EXPECT_NE(call.substr(0, 6), "launch");
}

TEST(CudaRun, KeepsStatesUntilTheyAreReset) {
  FakeCuda cuda;
  int64_t *calls = nullptr;
  cuda.execute = [&](const std::string &kernel, void **arguments) {
    if (kernel == "count")
      calls = *static_cast<int64_t **>(arguments[0]);
    executeTwoKernels(kernel, arguments);
  };
  TwoKernels kernels;
  TestSession s(kernels);
  for (int64_t expected : {1, 2, 3}) {
    ASSERT_EQ(s.run(2), "");
    EXPECT_EQ(*calls, expected);
  }
  moert_session_reset(s.session);
  ASSERT_EQ(s.run(2), "");
  EXPECT_EQ(*calls, 1);
  EXPECT_EQ(moert_session_state_bytes(s.session), 64);
  EXPECT_EQ(moert_session_arena_bytes(s.session), 1000);
}

TEST(CudaRun, PassesSlotsAndThenMaps) {
  FakeCuda cuda;
  bool seen = false;
  cuda.execute = [&](const std::string &kernel, void **arguments) {
    if (kernel != "count")
      return;
    seen = true;
    for (int map = 0; map < 2; ++map) // the fake notes the base of a matrix at the beginning of its map
      EXPECT_EQ(*static_cast<void **>(arguments[3 + map]), *static_cast<void **>(arguments[map]));
    EXPECT_EQ(*static_cast<int64_t *>(arguments[2]), 0);
  };
  TwoKernels kernels;
  TestSession s(kernels);
  cuda.take();
  // The driver refuses matrices without rows, so the map says one.
  ASSERT_EQ(s.run(0), "");
  EXPECT_TRUE(seen);
  Calls calls = cuda.take();
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "encode plain type=9 1x64 stride=128 box=8x32 swizzle=2"), 1);
}

TEST(CudaRun, OnlyLaunchesOnValuesOfTheGpu) {
  FakeCuda cuda;
  cuda.execute = executeTwoKernels;
  TwoKernels kernels;
  int callersStream;
  TestSession s(kernels, onValuesOfTheGpu(&callersStream));
  ASSERT_EQ(s.run(8), "");
  moert_tensor first, second;
  ASSERT_EQ(moert_session_output(s.session, 0, &first), 0);
  EXPECT_EQ(cuda.blocksInUse(), 4u); // state, weights, output, scratch memory
  cuda.take();
  ASSERT_EQ(s.run(8), "");
  EXPECT_EQ(cuda.take(), (Calls{"launch scale grid=8 block=128 shared=0 on another stream",
                                "encode plain type=9 8x64 stride=128 box=8x32 swizzle=2",
                                "encode plain type=7 1x4 stride=16 box=1x4 swizzle=0",
                                "launch count grid=1 block=384 shared=2000 on another stream"}));
  ASSERT_EQ(moert_session_output(s.session, 0, &second), 0);
  EXPECT_EQ(first.data, second.data);

  int64_t sizes[2] = {1, 4};
  EXPECT_EQ(moert_session_set_input(s.session, 0, MOERT_F32, 2, sizes, s.x + 1), 1);
  EXPECT_EQ(s.error(), "input 'x' is not at a multiple of 16 bytes of the GPU's memory");
}

TEST(CudaRun, TakesTimesByEventsIfThereIsATrace) {
  FakeCuda cuda;
  TwoKernels kernels;
  moert_session_options options = {};
  options.trace = options.count_experts = 1;
  TestSession s(kernels, options);
  ASSERT_EQ(s.run(8), "");
  cuda.take();
  ASSERT_EQ(s.run(8), "");
  EXPECT_EQ(cuda.take(),
            (Calls{"upload 128", "eventRecord 1", "eventRecord 2", "launch scale grid=8 block=128 shared=0",
                   "eventRecord 3", "encode plain type=9 8x64 stride=128 box=8x32 swizzle=2",
                   "encode plain type=7 1x4 stride=16 box=1x4 swizzle=0", "eventRecord 4",
                   "launch count grid=1 block=384 shared=2000", "eventRecord 5", "download 12", "download 128",
                   "synchronize"}));
  int32_t experts = 0;
  const int64_t *rows = nullptr;
  ASSERT_EQ(moert_session_expert_layers(s.session), 1);
  EXPECT_STREQ(moert_session_expert_load(s.session, 0, &experts, &rows), "layer");
  EXPECT_EQ(rows[0] + 10 * rows[1], 42); // two calls: 1 row, and 2

  std::string path = testing::TempDir() + "cuda.trace.json";
  ASSERT_EQ(moert_session_write_trace(s.session, path.c_str()), 0);
  FILE *file = std::fopen(path.c_str(), "r");
  std::string text(1 << 16, '\0');
  text.resize(std::fread(&text[0], 1, text.size(), file));
  std::fclose(file);
  std::remove(path.c_str());
  // In the fake, event e is at e milliseconds.
  EXPECT_NE(text.find("\"name\":\"scale\""), std::string::npos);
  EXPECT_NE(text.find("\"dur\":1000.000,\"args\":{\"rows\":8,\"work\":32,\"blocks\":4}"), std::string::npos) << text;
}

TEST(CudaRun, WorksOnTheCpuTooWithoutAnyCallOfCuda) {
  FakeCuda cuda;
  TwoKernels kernels;
  moert_session_options options = {};
  options.device = "cpu";
  TestSession s(kernels, options);
  EXPECT_EQ(s.code, 0) << s.error();
  EXPECT_TRUE(cuda.calls.empty());
}

} // namespace
