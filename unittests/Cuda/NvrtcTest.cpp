//===- NvrtcTest.cpp - kernels compiled for sm_90a; needs NVRTC, and neither a GPU nor a driver -------------------===//

#include "moe-mlir/Target/Nvrtc.h"
#include "TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace moe_mlir;

static const char kGood[] = R"(#include "device.cuh"
extern "C" __global__ void good(float *x) {
  moe::storeGlobal(x + moe::threadIndex(), 1.0f);
}
)";

/// 64 registers of values where two blocks of 1024 threads leave 32.
static const char kSpilling[] = R"(#include "device.cuh"
extern "C" __global__ __launch_bounds__(1024, 2) void spilling(float *x, int n) {
  float v[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] = x[i * n + moe::threadIndex()];
  for (int j = 0; j < n; ++j) {
#pragma unroll
    for (int i = 0; i < 64; ++i) v[i] = v[i] * v[(i + 17) % 64] + v[(i + 31) % 64];
  }
#pragma unroll
  for (int i = 0; i < 64; ++i) x[i * n + moe::threadIndex()] = v[i];
}
)";

class NvrtcTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::Expected<std::unique_ptr<Nvrtc>> loaded = Nvrtc::load();
    if (!loaded)
      GTEST_SKIP() << llvm::toString(loaded.takeError());
    nvrtc = std::move(*loaded);
  }

  std::unique_ptr<Nvrtc> nvrtc;
};

TEST_F(NvrtcTest, Compiles) {
  llvm::Expected<Cubin> cubin = nvrtc->compile({"good", kGood}, "sm_90a");
  ASSERT_TRUE(bool(cubin)) << llvm::toString(cubin.takeError());
  EXPECT_EQ(llvm::StringRef(cubin->code).take_front(4), "\x7f"
                                                        "ELF");
  EXPECT_NE(cubin->code.find("good"), std::string::npos);
  EXPECT_GT(cubin->registers, 0);
  EXPECT_TRUE(cubin->warnings.empty());
}

TEST_F(NvrtcTest, ErrorsNameTheKernelAndTheLine) {
  llvm::Expected<Cubin> cubin =
      nvrtc->compile({"bad", "extern \"C\" __global__ void bad() {\n  x = 1;\n}\n"}, "sm_90a");
  ASSERT_FALSE(bool(cubin));
  EXPECT_EQ(llvm::toString(cubin.takeError()), "kernel 'bad': bad.cu(2): error: identifier \"x\" is undefined");
  llvm::Expected<Cubin> unknown = nvrtc->compile({"good", kGood}, "sm_1a");
  ASSERT_FALSE(bool(unknown));
  EXPECT_NE(
      llvm::toString(unknown.takeError()).find("kernel 'good': nvrtc: error: invalid value for --gpu-architecture"),
      std::string::npos);
}

TEST_F(NvrtcTest, SpillsAreWarnings) {
  llvm::Expected<Cubin> cubin = nvrtc->compile({"spilling", kSpilling}, "sm_90a");
  ASSERT_TRUE(bool(cubin)) << llvm::toString(cubin.takeError());
  EXPECT_EQ(cubin->registers, 32);
  ASSERT_EQ(cubin->warnings.size(), 1u);
  EXPECT_EQ(cubin->warnings[0].find("kernel 'spilling' spills registers: "), 0u);
}

TEST_F(NvrtcTest, ManyByTheCache) {
  TemporaryFolder folder;
  CubinCache cache(folder.path);
  std::vector<KernelText> kernels;
  for (std::string name : {"a", "b", "c", "d", "e"}) {
    std::string text = kGood;
    text.replace(text.find("good"), 4, name);
    kernels.push_back({name, text});
  }
  auto compileAll = [&](unsigned threads) {
    std::vector<size_t> progress;
    auto cubins = compileKernels(*nvrtc, cache, kernels, "sm_90a", threads, [&](size_t n) { progress.push_back(n); });
    EXPECT_EQ(progress, (std::vector<size_t>{1, 2, 3, 4, 5}));
    return cubins ? std::move(*cubins) : std::vector<Cubin>();
  };
  std::vector<Cubin> first = compileAll(3), second = compileAll(0);
  ASSERT_EQ(first.size(), kernels.size());
  ASSERT_EQ(second.size(), kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_FALSE(first[i].fromCache);
    EXPECT_TRUE(second[i].fromCache);
    EXPECT_EQ(first[i].code, second[i].code);
    EXPECT_NE(first[i].code.find(kernels[i].name), std::string::npos);
  }
  // Another architecture is another entry; a fault in one kernel is the error of all.
  EXPECT_FALSE(cache.find(nvrtc->fingerprint("sm_100a"), kernels[0]));
  kernels[3].source = "?";
  auto bad = compileKernels(*nvrtc, cache, kernels, "sm_90a");
  ASSERT_FALSE(bool(bad));
  EXPECT_EQ(llvm::toString(bad.takeError()).find("kernel 'd': "), 0u);
}

TEST(Nvrtc, WhatToInstall) {
  llvm::Expected<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::load(NvrtcPlaces());
  if (nvrtc)
    GTEST_SKIP() << "the system's linker knows NVRTC";
  EXPECT_EQ(
      llvm::toString(nvrtc.takeError()),
      "CUDA kernels are compiled by NVRTC, which is not in CUDA_HOME, CUDA_PATH, the Python environment or on the "
      "linker's path: run 'pip install nvidia-cuda-nvrtc' or set MOE_NVRTC to its folder");
}
