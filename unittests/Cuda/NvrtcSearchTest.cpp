//===- NvrtcSearchTest.cpp - where NVRTC is looked for, and in which order ----------------------------------------===//

#include "TemporaryFolder.h"
#include "moe-mlir/Target/Nvrtc.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace moe_mlir;

static const std::vector<std::string> kLinkerNames = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

static std::vector<std::string> found(const NvrtcPlaces &places) {
  llvm::Expected<std::vector<std::string>> libraries = findNvrtc(places);
  EXPECT_TRUE(bool(libraries));
  return libraries ? *libraries : std::vector<std::string>();
}

static std::string errorOf(const NvrtcPlaces &places) {
  llvm::Expected<std::vector<std::string>> libraries = findNvrtc(places);
  return libraries ? "" : llvm::toString(libraries.takeError());
}

TEST(NvrtcSearch, OrderOfThePlaces) {
  TemporaryFolder folder;
  const std::string wheel = "lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13";
  std::vector<std::string> expected = {
      folder.write("home/lib64/libnvrtc.so.13"),
      folder.write("path/targets/x86_64-linux/lib/libnvrtc.so.12"),
      folder.write("env/" + wheel),
      folder.write("python/lib/python3/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"),
      folder.write("build/" + wheel),
      folder.write("toolkit/lib/libnvrtc.so.13")};
  expected.insert(expected.end(), kLinkerNames.begin(), kLinkerNames.end());
  NvrtcPlaces places;
  places.cudaHome = folder.path + "/home";
  places.cudaPath = folder.path + "/path";
  places.virtualEnv = folder.path + "/env";
  places.python = folder.path + "/python";
  places.buildPython = folder.path + "/build";
  places.toolkit = folder.path + "/toolkit";
  EXPECT_EQ(found(places), expected);
}

TEST(NvrtcSearch, NothingIsThere) {
  TemporaryFolder folder;
  NvrtcPlaces places;
  EXPECT_EQ(found(places), kLinkerNames);
  places.cudaHome = places.virtualEnv = folder.path + "/missing";
  places.python = folder.path;
  EXPECT_EQ(found(places), kLinkerNames);
}

TEST(NvrtcSearch, NewestOfSeveral) {
  TemporaryFolder folder;
  folder.write("lib/libnvrtc.so.12");
  folder.write("lib/libnvrtc.alt.so.13");
  std::string newest = folder.write("lib/libnvrtc.so.13");
  NvrtcPlaces places;
  places.cudaHome = folder.path;
  EXPECT_EQ(found(places).front(), newest);
}

TEST(NvrtcSearch, MoeNvrtcAloneDecides) {
  TemporaryFolder folder;
  std::string library = folder.write("mine/libnvrtc.so.13");
  folder.write("home/lib/libnvrtc.so.13");
  NvrtcPlaces places;
  places.cudaHome = folder.path + "/home";
  places.nvrtc = folder.path + "/mine";
  EXPECT_EQ(found(places), std::vector<std::string>{library});
  places.nvrtc = library;
  EXPECT_EQ(found(places), std::vector<std::string>{library});
  places.nvrtc = folder.path + "/home";
  EXPECT_EQ(errorOf(places), "MOE_NVRTC names '" + places.nvrtc + "', where there is no libnvrtc.so");
  places.nvrtc = folder.path + "/missing";
  EXPECT_NE(errorOf(places), "");
}

TEST(NvrtcSearch, PipesAreNotOpened) {
  TemporaryFolder folder;
  std::string library = folder.write("lib/libnvrtc.so.12"), pipe = folder.path + "/lib/libnvrtc.so.13";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  NvrtcPlaces places;
  places.cudaHome = folder.path;
  EXPECT_EQ(found(places).front(), library);
  places.nvrtc = folder.path + "/lib";
  EXPECT_EQ(found(places), std::vector<std::string>{library});
  places.nvrtc = pipe;
  EXPECT_EQ(errorOf(places), "MOE_NVRTC names '" + pipe + "', which is a pipe, no library");
}

TEST(NvrtcSearch, WhatIsNoNvrtcIsNotLoaded) {
  TemporaryFolder folder;
  NvrtcPlaces places;
  places.nvrtc = folder.write("libnvrtc.so.13", "no library");
  llvm::Expected<std::unique_ptr<Nvrtc>> nvrtc = Nvrtc::load(places);
  ASSERT_FALSE(bool(nvrtc));
  EXPECT_NE(llvm::toString(nvrtc.takeError()).find("', which is no NVRTC of CUDA 12 or newer: "), std::string::npos);
  // A library that loads and is another one.
  places.nvrtc = "/lib/x86_64-linux-gnu/libm.so.6";
  if (!llvm::sys::fs::exists(places.nvrtc))
    return;
  llvm::Expected<std::unique_ptr<Nvrtc>> other = Nvrtc::load(places);
  ASSERT_FALSE(bool(other));
  EXPECT_EQ(llvm::toString(other.takeError()),
            "MOE_NVRTC names '" + places.nvrtc + "', which is no NVRTC of CUDA 12 or newer");
}
