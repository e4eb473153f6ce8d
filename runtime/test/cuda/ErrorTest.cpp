//===- ErrorTest.cpp - every error of CUDA, and what is left after it ---------------------------------------------===//

#include "TwoKernels.h"
#include "cuda/Choose.h"

#include <gtest/gtest.h>

using namespace moert;

namespace {

constexpr const char *kHint = " (--device cpu does without)";

/// Opens a session that must fail.
std::string openError(const TwoKernels &kernels, int32_t code, moert_session_options options = {}) {
  TestSession s(kernels, options);
  EXPECT_EQ(s.code, code) << s.error();
  return s.error();
}

TEST(CudaErrors, OfTheMachine) {
  TwoKernels kernels;
  FakeCuda cuda;
  cuda.driver = 0;
  EXPECT_EQ(openError(kernels, 1),
            std::string("no NVIDIA driver is installed, which the program needs to run on a GPU") + kHint);
  cuda.driver = 12040;
  EXPECT_EQ(openError(kernels, 1),
            std::string("the NVIDIA driver is too old: it supports CUDA 12.4, the program needs 13.0") + kHint);
  cuda.driver = 13020;
  cuda.devices = 0;
  EXPECT_EQ(openError(kernels, 1), std::string("no NVIDIA GPU is visible (CUDA_VISIBLE_DEVICES may hide it)") + kHint);
  cuda.devices = 2;
  moert_session_options third = {};
  third.device = "cuda:2";
  EXPECT_EQ(openError(kernels, 1, third),
            std::string("there is no cuda:2: this machine has 2 GPUs, from cuda:0") + kHint);
  cuda.major = 8;
  EXPECT_EQ(
      openError(kernels, 2),
      std::string("the program was compiled for sm_90a, which cuda:0 (Fake) of compute capability 8.0 cannot run") +
          kHint);
  // Without a CPU program there is nothing to point to.
  kernels.list.count = 1;
  EXPECT_EQ(openError(kernels, 2),
            "the program was compiled for sm_90a, which cuda:0 (Fake) of compute capability 8.0 cannot run");
}

TEST(CudaErrors, WhichGpuRunsWhichCode) {
  EXPECT_TRUE(runsOn("sm_90a", 9, 0));
  EXPECT_FALSE(runsOn("sm_90a", 9, 1));
  EXPECT_FALSE(runsOn("sm_90a", 10, 0));
  EXPECT_TRUE(runsOn("sm_80", 8, 6));
  EXPECT_FALSE(runsOn("sm_86", 8, 0));
  EXPECT_FALSE(runsOn("sm_80", 9, 0));
  EXPECT_TRUE(runsOn("sm_100a", 10, 0));
  EXPECT_FALSE(runsOn("compute_90", 9, 0));
}

TEST(CudaErrors, WhileOpening) {
  TwoKernels kernels;
  kernels.list.count = 1;
  FakeCuda cuda;
  cuda.fail("setDevice", cudaErrorDevicesUnavailable);
  EXPECT_EQ(openError(kernels, 1),
            "cuda:0 (Fake): opening it: the GPU is busy or reserved (nvidia-smi shows its compute "
            "mode and who uses it) (cudaErrorOfTest)");
  cuda.fail("getDeviceCount", cudaErrorSystemNotReady);
  EXPECT_EQ(openError(kernels, 1),
            "cuda: starting the driver: the NVIDIA driver is not ready (systems with NVSwitch need "
            "the service nvidia-fabricmanager) (cudaErrorOfTest)");
  cuda.fail("getDeviceCount", cudaErrorUnknown);
  EXPECT_EQ(openError(kernels, 1), "cuda: starting the driver: in the words of CUDA (cudaErrorOfTest)");
  cuda.fail("load", cudaErrorInvalidKernelImage);
  EXPECT_EQ(openError(kernels, 70),
            "cuda:0 (Fake): loading kernel 'scale': the machine code is damaged (cudaErrorOfTest)");
  cuda.fail("getKernel", cudaErrorSymbolNotFound);
  EXPECT_EQ(openError(kernels, 70),
            "cuda:0 (Fake): loading kernel 'scale': the machine code lacks the kernel (cudaErrorOfTest)");
  cuda.fail("setAttribute", cudaErrorInvalidValue);
  EXPECT_EQ(openError(kernels, 70), "cuda:0 (Fake): preparing kernel 'count': an invalid argument (cudaErrorOfTest)");
  cuda.encodesMaps = false;
  EXPECT_EQ(openError(kernels, 1), "the NVIDIA driver is too old: it has no cuTensorMapEncodeTiled");
  EXPECT_EQ(cuda.blocksInUse(), 0u);
}

TEST(CudaErrors, OfInvalidPrograms) {
  FakeCuda cuda;
  auto error = [&](void (*change)(TwoKernels &)) {
    TwoKernels kernels;
    change(kernels);
    return openError(kernels, 70);
  };
  const std::string begin = "the compiled program 'two-kernels' is invalid: ";
  EXPECT_EQ(error([](TwoKernels &k) { k.program.cuda = nullptr; }), begin + "it has no CUDA code");
  EXPECT_EQ(error([](TwoKernels &k) { k.launches[1].image = 2; }), begin + "a kernel has no image");
  EXPECT_EQ(error([](TwoKernels &k) { k.launches[1].threads = 2000; }), begin + "a kernel has an invalid size");
  EXPECT_EQ(error([](TwoKernels &k) { k.maps[1].slot = 3; }), begin + "a kernel has an invalid map");
  EXPECT_EQ(error([](TwoKernels &k) { k.maps[0].rows = -4; }), begin + "a kernel has an invalid map");
  EXPECT_EQ(error([](TwoKernels &k) { k.launches[0].shared_bytes = 228 << 10; }),
            "kernel 'scale' needs 233472 bytes of shared memory, a block on cuda:0 (Fake) has 232448");
}

TEST(CudaErrors, OfMemoryLeaveTheSessionUsable) {
  FakeCuda cuda;
  TwoKernels kernels;
  TestSession s(kernels);
  cuda.memory = 300;
  EXPECT_EQ(s.run(8), "out of memory on cuda:0 (Fake): y needs 128 bytes, 92 of 300 are free");
  EXPECT_EQ(s.code, 1);
  EXPECT_EQ(cuda.take().back(), "synchronize"); // nothing reads the inputs any more when run() is back
  cuda.memory = 10000;
  EXPECT_EQ(s.run(8), "");
}

TEST(CudaErrors, OfALaunchNameTheKernel) {
  FakeCuda cuda;
  TwoKernels kernels;
  TestSession s(kernels);
  cuda.fail("launch", cudaErrorLaunchOutOfResources);
  EXPECT_EQ(s.run(1), "cuda:0 (Fake): launching kernel 'scale': the kernel needs more registers or memory than a block "
                      "has (cudaErrorOfTest)");
  EXPECT_EQ(s.code, 70);
  EXPECT_EQ(cuda.last, cudaSuccess); // nobody else in the process finds it
  EXPECT_EQ(s.run(1), "");
  kernels.maps[0].box_columns = 300;
  EXPECT_EQ(s.run(1),
            "cuda:0 (Fake): kernel 'count': the driver refuses a map of 1 x 64 bf16 with boxes of 8 x 300 and "
            "a swizzle of 64 bytes (CUresult 1)");
  EXPECT_EQ(s.code, 70);
}

TEST(CudaErrors, ThatLoseTheGpuStay) {
  struct Case {
    cudaError_t error;
    int32_t code;
    const char *meaning;
  };
  const Case cases[] = {
      {cudaErrorIllegalAddress, 70,
       "a kernel accessed memory that is not its own; CUDA_LAUNCH_BLOCKING=1 tells which kernel it was"},
      {cudaErrorMisalignedAddress, 70,
       "a kernel accessed memory at a wrong alignment; CUDA_LAUNCH_BLOCKING=1 tells which kernel it was"},
      {cudaErrorLaunchFailure, 70, "a kernel failed; CUDA_LAUNCH_BLOCKING=1 tells which kernel it was"},
      {cudaErrorLaunchTimeout, 1, "a kernel ran longer than the system allows (a GPU with a display has a deadline)"},
      {cudaErrorECCUncorrectable, 1, "the GPU's memory has a fault that cannot be corrected"},
  };
  for (const Case &c : cases) {
    FakeCuda cuda;
    TwoKernels kernels;
    std::string expected = std::string("cuda:0 (Fake): running the kernels: ") + c.meaning +
                           " (cudaErrorOfTest); this process cannot use the GPU any more";
    {
      TestSession s(kernels);
      ASSERT_EQ(s.run(1), "");
      cuda.fail("synchronize", c.error);
      EXPECT_EQ(s.run(1), expected);
      EXPECT_EQ(s.code, c.code);
      cuda.take();
      EXPECT_EQ(s.run(1), expected);
      EXPECT_TRUE(cuda.calls.empty());
    }
    EXPECT_TRUE(cuda.calls.empty()); // closing does not touch it either
  }
}

TEST(CudaErrors, WhileCapturing) {
  FakeCuda cuda;
  TwoKernels kernels;
  TestSession s(kernels, onValuesOfTheGpu());
  cuda.fail("malloc", cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(s.run(1),
            "cuda:0 (Fake): reserving memory: this cannot be captured in a graph; run the session once with the "
            "same sizes before the capture (a graph holds no copies or reads by the host) (cudaErrorOfTest)");
  EXPECT_EQ(s.code, 1);
}

TEST(CudaErrors, OfTheProgramWaitForWhatWasLaunched) {
  FakeCuda cuda;
  TwoKernels kernels;
  TestSession s(kernels);
  EXPECT_EQ(s.run(13), "the program does not like 13 rows");
  EXPECT_EQ(cuda.take().back(), "synchronize");
  EXPECT_EQ(s.run(12), "");
}

TEST(CudaErrors, OfOptions) {
  FakeCuda cuda;
  TwoKernels kernels;
  moert_session_options options = {};
  options.device_values = options.trace = 1;
  EXPECT_EQ(openError(kernels, 1, options),
            "traces and expert loads wait for the GPU, which a run on its own values does not");
  options.trace = 0;
  options.device = "cpu";
  EXPECT_EQ(openError(kernels, 1, options),
            "values of a GPU, or its stream, need a program for it: this one is for the cpu");
  options.device_values = 0;
  options.verify_weights = 1;
  EXPECT_EQ(openError(kernels, 1, options), "weights that are made from a seed cannot be verified");
}

} // namespace
