//===- ReadTest.cpp - values of the GPU by which a program decides ------------------------------------------------===//

#include "TwoKernels.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace moert;

using Calls = std::vector<std::string>;

namespace {


/// Launches the two kernels, and asks what the second has counted.
int32_t runAndRead(moert_context *ctx) {
  const int32_t code = runTwoKernels(ctx);
  int64_t calls = -1;
  moert_read(ctx, &calls, moert_state(ctx, 0), sizeof calls);
  moert_check(ctx, calls < 3, "a third call");
  return code;
}

struct ReadingProgram : TwoKernels {
  ReadingProgram() {
    program.run = cpuProgram.run = runAndRead;
  }
};

TEST(CudaRead, WaitsForTheLaunchesInFrontOfIt) {
  FakeCuda cuda;
  cuda.execute = executeTwoKernels;
  ReadingProgram program;
  TestSession s(program);
  ASSERT_EQ(s.run(8), "");
  cuda.take();
  ASSERT_EQ(s.run(8), "");
  const Calls calls = cuda.take();
  const Calls last(std::find(calls.begin(), calls.end(), "launch count grid=1 block=384 shared=2000"), calls.end());
  EXPECT_EQ(last, (Calls{"launch count grid=1 block=384 shared=2000", "download 8", "synchronize", "download 128",
                         "synchronize"}));
  // The program decides by what was read, and the session goes on.
  EXPECT_EQ(s.run(8), "a third call");
  EXPECT_EQ(s.code, 1);
  moert_session_reset(s.session);
  EXPECT_EQ(s.run(8), "");
}

TEST(CudaRead, TellsAnErrorOfALaunch) {
  FakeCuda cuda;
  ReadingProgram program;
  TestSession s(program, onValuesOfTheGpu()); // no other download
  cuda.fail("download", cudaErrorIllegalAddress);
  EXPECT_NE(s.run(8).find("a kernel accessed memory that is not its own"), std::string::npos) << s.error();
}

TEST(CudaRead, HasTheDeadlineOfTheRun) {
  FakeCuda cuda;
  cuda.execute = executeTwoKernels;
  ReadingProgram program;
  moert_session_options options = {};
  options.deadline_ms = 20;
  TestSession s(program, options);
  ASSERT_EQ(s.run(8), "");
  cuda.hanging = "count";
  EXPECT_EQ(s.run(8), "cuda:0 (Fake): missed deadline: kernel 'count' of entry 'main' has not ended after 20 ms");
  cuda.endHanging();
}

TEST(CudaRead, MakesARunOnValuesOfTheGpuWait) {
  FakeCuda cuda;
  cuda.execute = executeTwoKernels;
  ReadingProgram program;
  int stream;
  TestSession s(program, onValuesOfTheGpu(&stream));
  ASSERT_EQ(s.run(8), "");
  cuda.beginCapture();
  EXPECT_NE(s.run(8).find("this cannot be captured in a graph"), std::string::npos) << s.error();
  EXPECT_EQ(s.code, 1);
  EXPECT_FALSE(cuda.endCapture());
  EXPECT_EQ(s.run(8), "");
  EXPECT_EQ(s.run(8), "a third call");
}

TEST(CudaRead, CopiesOnTheCpu) {
  static int64_t calls;
  static moert_kernel_fn count = [](const void *args, int64_t, int64_t) { ++**static_cast<int64_t *const *>(args); };
  static const moert_kernel kernel = {"count", count};
  ReadingProgram program;
  program.cpuProgram.run = [](moert_context *ctx) {
    const void *slots[] = {moert_state(ctx, 0)};
    moert_launch(ctx, &kernel, slots, 1, 1, 1);
    moert_read(ctx, &calls, slots[0], sizeof calls);
    int64_t sizes[2] = {0, 4};
    moert_output(ctx, 0, 2, sizes);
    return 0;
  };
  moert_session_options options = {};
  options.device = "cpu";
  TestSession s(program, options);
  ASSERT_EQ(s.run(0), "");
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(s.run(0), "");
  EXPECT_EQ(calls, 2);
}

} // namespace
