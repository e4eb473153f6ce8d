//===- DeadlineTest.cpp - a GPU that does not end its work --------------------------------------------------------===//
//
// The fake stops the process where the runtime would wait for ever.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TwoKernels.h"
#include "cuda/CudaDevice.h"

#include <gtest/gtest.h>

using namespace moert;

namespace {

moert_session_options within(int64_t milliseconds) {
  moert_session_options options = {};
  options.deadline_ms = milliseconds;
  return options;
}

TEST(CudaDeadline, NamesTheFirstKernelThatHasNotEnded) {
  for (const char *kernel : {"scale", "count"}) {
    FakeCuda cuda;
    TwoKernels kernels;
    TestSession s(kernels, within(20));
    ASSERT_EQ(s.run(8), "");
    cuda.hanging = kernel;
    EXPECT_EQ(s.run(8), "cuda:0 (Fake): missed deadline: kernel '" + std::string(kernel) +
                            "' of entry 'main' has not ended after 20 ms");
    EXPECT_EQ(s.code, 1);
    EXPECT_EQ(cuda.last, cudaSuccess); // "not ready" is not left for others to find
    cuda.endHanging();
  }
}

TEST(CudaDeadline, LeavesTheSessionUsable) {
  FakeCuda cuda;
  cuda.execute = executeTwoKernels;
  TwoKernels kernels;
  TestSession s(kernels, within(20));
  ASSERT_EQ(s.run(8), "");
  cuda.hanging = "scale";
  ASSERT_NE(s.run(8), "");
  moert_tensor y;
  EXPECT_EQ(moert_session_output(s.session, 0, &y), 1);
  // While the GPU still works, nothing new is given to it.
  cuda.take();
  EXPECT_EQ(s.run(8), "cuda:0 (Fake): the run that missed its deadline of 20 ms has still not ended");
  EXPECT_EQ(cuda.take(), std::vector<std::string>());
  cuda.endHanging();
  ASSERT_EQ(s.run(8), "");
  ASSERT_EQ(moert_session_output(s.session, 0, &y), 0);
  EXPECT_EQ(static_cast<const float *>(y.data)[4] * 5, static_cast<const float *>(y.data)[20]); // x[4] = 4, x[20] = 20
  EXPECT_NE(static_cast<const float *>(y.data)[4], 0);
}

TEST(CudaDeadline, IsNoReasonToWaitWhenTheSessionCloses) {
  FakeCuda cuda;
  TwoKernels kernels;
  {
    TestSession s(kernels, within(20));
    cuda.hanging = "count";
    ASSERT_NE(s.run(8), "");
    cuda.take();
  }
  EXPECT_EQ(cuda.take(), std::vector<std::string>()); // neither memory nor code is given back: that would wait
  EXPECT_GT(cuda.blocksInUse(), 0u);
  cuda.endHanging();
}

TEST(CudaDeadline, IsKeptInTheMiddleOfARun) {
  // The offsets of the experts are copied when the program asks for them, which waits for its launches.
  FakeCuda cuda;
  TwoKernels kernels;
  moert_session_options options = within(20);
  options.trace = options.count_experts = 1; // names come from the events of the trace then
  TestSession s(kernels, options);
  cuda.hanging = "count";
  EXPECT_EQ(s.run(8), "cuda:0 (Fake): missed deadline: kernel 'count' of entry 'main' has not ended after 20 ms");
  cuda.endHanging();
  EXPECT_EQ(s.run(8), "");
}

TEST(CudaDeadline, IsForWhatTakesTooLong) {
  FakeCuda cuda;
  TwoKernels kernels;
  TestSession s(kernels, within(10000));
  cuda.delay = 5;
  EXPECT_EQ(s.run(8), "");
  EXPECT_EQ(cuda.delay, 0);
  // An event for each launch, and no more work than that.
  cuda.take();
  EXPECT_EQ(s.run(8), "");
  EXPECT_EQ(cuda.take(),
            (std::vector<std::string>{"upload 128", "launch scale grid=8 block=128 shared=0", "eventRecord 1",
                                      "encode plain type=9 8x64 stride=128 box=8x32 swizzle=2",
                                      "encode plain type=7 1x4 stride=16 box=1x4 swizzle=0",
                                      "launch count grid=1 block=384 shared=2000", "eventRecord 2", "download 128",
                                      "synchronize"}));
}

TEST(CudaDeadline, OfOneThatNobodyGaveNamesTheEntry) {
  FakeCuda cuda;
  TwoKernels kernels;
  DeviceOptions options;
  EXPECT_EQ(options.deadline, 600000);
  options.deadline = 1000;
  std::unique_ptr<Device> device;
  Selection selection;
  selection.program = &kernels.program;
  ASSERT_FALSE(openCudaDevice(cuda.api(), selection, options, device).failed());
  ASSERT_FALSE(device->begin().failed());
  uint64_t slots[4] = {};
  cuda.hanging = "scale";
  cuda.take();
  ASSERT_FALSE(device->launch(0, slots, 1, /*timed=*/false).failed());
  EXPECT_EQ(cuda.take(), std::vector<std::string>{"launch scale grid=1 block=128 shared=0"});
  EXPECT_EQ(device->finish().message, "cuda:0 (Fake): missed deadline: entry 'main' has not ended after 1 s (with a "
                                      "deadline of its own, --deadline, a run names the kernel)");
  device.reset();
  cuda.endHanging();
}

TEST(CudaDeadline, HidesNoOtherError) {
  FakeCuda cuda;
  TwoKernels kernels;
  TestSession s(kernels, within(20));
  ASSERT_EQ(s.run(1), "");
  cuda.fail("query", cudaErrorIllegalAddress);
  EXPECT_EQ(s.run(1), "cuda:0 (Fake): running the kernels: a kernel accessed memory that is not its own; "
                      "CUDA_LAUNCH_BLOCKING=1 tells which kernel it was (cudaErrorOfTest); this process cannot use the "
                      "GPU any more");
  EXPECT_EQ(s.code, 70);
}

TEST(CudaDeadline, IsRefusedWhereNobodyWaits) {
  FakeCuda cuda;
  TwoKernels kernels;
  auto error = [&](moert_session_options options) {
    TestSession s(kernels, options);
    EXPECT_EQ(s.code, 1);
    return s.error();
  };
  moert_session_options options = within(20);
  options.device = "cpu";
  EXPECT_EQ(error(options), "a deadline is for runs on a GPU or of several ranks: this program is for one cpu");
  options.device = nullptr;
  options.device_values = 1;
  EXPECT_EQ(error(options), "a deadline is for runs that wait for the GPU, which one on its own values does not");
  EXPECT_EQ(error(within(-1)), "a deadline of -1 ms: expected 0..1000000000");
}

} // namespace
