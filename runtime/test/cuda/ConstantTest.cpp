//===- ConstantTest.cpp - constants of a program, in the memory of its device -------------------------------------===//

#include "TwoKernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace moert;

using Calls = std::vector<std::string>;

namespace {

const float kTable[] = {1, 2, 3}, kOther[] = {4, 5, 6};
const void *seen[3];

int32_t runWithConstants(moert_context *ctx) {
  seen[0] = moert_constant(ctx, kTable, sizeof kTable);
  seen[1] = moert_constant(ctx, kOther, sizeof kOther);
  seen[2] = moert_constant(ctx, kTable, sizeof kTable);
  return runTwoKernels(ctx);
}

struct ProgramWithConstants : TwoKernels {
  ProgramWithConstants() {
    program.run = cpuProgram.run = runWithConstants;
  }
};

long uploadsOf(const Calls &calls) { return std::count(calls.begin(), calls.end(), "upload 12"); }

TEST(CudaConstants, AreCopiedOnceForASession) {
  FakeCuda cuda;
  ProgramWithConstants program;
  for (int session = 0; session < 2; ++session) {
    TestSession s(program);
    cuda.take();
    ASSERT_EQ(s.run(8), "");
    EXPECT_EQ(uploadsOf(cuda.take()), 2);
    EXPECT_NE(seen[0], kTable);
    EXPECT_EQ(seen[0], seen[2]);
    EXPECT_EQ(std::memcmp(seen[0], kTable, sizeof kTable), 0);
    EXPECT_EQ(std::memcmp(seen[1], kOther, sizeof kOther), 0);
    const void *before = seen[0];
    ASSERT_EQ(s.run(9), "");
    EXPECT_EQ(uploadsOf(cuda.take()), 0);
    EXPECT_EQ(seen[0], before);
  }
}

TEST(CudaConstants, MayBeginWhereOneWithoutElementsIs) {
  FakeCuda cuda;
  ProgramWithConstants program;
  static const void *empty;
  program.program.run = [](moert_context *ctx) {
    empty = moert_constant(ctx, kTable, 0);
    return runWithConstants(ctx);
  };
  TestSession s(program);
  ASSERT_EQ(s.run(8), "");
  EXPECT_NE(empty, seen[0]);
  EXPECT_EQ(std::memcmp(seen[0], kTable, sizeof kTable), 0);
}

TEST(CudaConstants, AreNoReasonToRefuseACapture) {
  FakeCuda cuda;
  ProgramWithConstants program;
  int stream;
  TestSession s(program, onValuesOfTheGpu(&stream));
  ASSERT_EQ(s.run(8), "");
  cuda.beginCapture();
  EXPECT_EQ(s.run(8), "");
  EXPECT_TRUE(cuda.endCapture());
}

TEST(CudaConstants, AreCopiedAgainIfThatFailed) {
  FakeCuda cuda;
  ProgramWithConstants program;
  TestSession s(program, onValuesOfTheGpu());
  cuda.fail("upload", cudaErrorUnknown);
  EXPECT_NE(s.run(8), "");
  EXPECT_EQ(s.run(8), "");
  EXPECT_EQ(std::memcmp(seen[0], kTable, sizeof kTable), 0);
  EXPECT_EQ(std::memcmp(seen[1], kOther, sizeof kOther), 0);
}

TEST(CudaConstants, StayWhereTheyAreOnTheCpu) {
  static int64_t sizes[2] = {0, 4};
  ProgramWithConstants program;
  program.cpuProgram.run = [](moert_context *ctx) {
    seen[0] = moert_constant(ctx, kTable, sizeof kTable);
    seen[1] = moert_constant(ctx, kOther, sizeof kOther);
    moert_output(ctx, 0, 2, sizes);
    return 0;
  };
  moert_session_options options = {};
  options.device = "cpu";
  TestSession s(program, options);
  ASSERT_EQ(s.run(0), "");
  EXPECT_EQ(seen[0], kTable);
  EXPECT_EQ(seen[1], kOther);
}

} // namespace
