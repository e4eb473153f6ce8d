//===- CubinCacheTest.cpp - compiled kernels on disk --------------------------------------------------------------===//

#include "TemporaryFolder.h"
#include "moe-mlir/Target/Nvrtc.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

using namespace moe_mlir;

static const KernelText kKernel = {"up", "extern \"C\" void up();"};
static const std::string kFingerprint = "nvrtc 13.0 -arch=sm_90a";

static Cubin cubin(std::string code) {
  Cubin made;
  made.code = std::move(code);
  made.log = "ptxas info    : Used 40 registers\n";
  return made;
}

static unsigned entriesIn(const std::string &folder) {
  unsigned count = 0;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    ++count;
  return count;
}

TEST(CubinCache, KeepsWhatWasAdded) {
  TemporaryFolder folder;
  CubinCache cache(folder.path);
  EXPECT_FALSE(cache.find(kFingerprint, kKernel));
  std::string code("\x7f"
                   "ELF\0code",
                   9);
  cache.add(kFingerprint, kKernel, cubin(code));
  std::optional<Cubin> found = CubinCache(folder.path).find(kFingerprint, kKernel);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, code);
  EXPECT_TRUE(found->fromCache);
  EXPECT_EQ(found->registers, 40);
  EXPECT_EQ(entriesIn(folder.path + "/tmp"), 0u);
}

TEST(CubinCache, EverythingThatDecidesIsInTheKey) {
  TemporaryFolder folder;
  CubinCache cache(folder.path);
  cache.add(kFingerprint, kKernel, cubin("a"));
  EXPECT_FALSE(cache.find("nvrtc 13.1 -arch=sm_90a", kKernel));
  EXPECT_FALSE(cache.find(kFingerprint, {"down", kKernel.source}));
  EXPECT_FALSE(cache.find(kFingerprint, {kKernel.name, kKernel.source + " "}));
  EXPECT_NE(cache.entry(kFingerprint + "u", {"p", ""}), cache.entry(kFingerprint, {"up", ""}));
}

TEST(CubinCache, DamagedEntriesAreMissingAndReplaced) {
  for (std::string file : {"kernel.cubin", "kernel.cu", "log", "checksum"}) {
    TemporaryFolder folder;
    CubinCache cache(folder.path);
    cache.add(kFingerprint, kKernel, cubin("good"));
    std::string path = cache.entry(kFingerprint, kKernel) + "/" + file;
    for (bool removed : {false, true}) {
      std::error_code error;
      if (removed)
        llvm::sys::fs::remove(path);
      else
        llvm::raw_fd_ostream(path, error, llvm::sys::fs::OF_Append) << "x";
      EXPECT_FALSE(cache.find(kFingerprint, kKernel)) << file;
      cache.add(kFingerprint, kKernel, cubin("better"));
      std::optional<Cubin> found = cache.find(kFingerprint, kKernel);
      ASSERT_TRUE(found) << file;
      EXPECT_EQ(found->code, "better");
    }
    EXPECT_EQ(entriesIn(folder.path + "/tmp"), 0u);
    EXPECT_EQ(entriesIn(cache.entry(kFingerprint, kKernel)), 4u);
  }
}

TEST(CubinCache, WholeEntryStays) {
  TemporaryFolder folder;
  CubinCache cache(folder.path);
  cache.add(kFingerprint, kKernel, cubin("first"));
  cache.add(kFingerprint, kKernel, cubin("second"));
  EXPECT_EQ(cache.find(kFingerprint, kKernel)->code, "first");
  EXPECT_EQ(entriesIn(folder.path + "/tmp"), 0u);
}

TEST(CubinCache, ReadOnlyFolderIsRead) {
  TemporaryFolder folder;
  CubinCache cache(folder.path + "/cache");
  cache.add(kFingerprint, kKernel, cubin("good"));
  // Also root cannot make a file where there is a file instead of a folder.
  TemporaryFolder blocked;
  blocked.write("tmp");
  ASSERT_FALSE(llvm::sys::fs::rename(folder.path + "/cache/kernels", blocked.path + "/kernels"));
  CubinCache readOnly(blocked.path);
  EXPECT_EQ(readOnly.find(kFingerprint, kKernel)->code, "good");
  readOnly.add(kFingerprint, {"down", "text"}, cubin("other"));
  EXPECT_FALSE(readOnly.find(kFingerprint, {"down", "text"}));
}

TEST(CubinCache, NoFolderIsNoCache) {
  CubinCache cache("");
  cache.add(kFingerprint, kKernel, cubin("good"));
  EXPECT_FALSE(cache.find(kFingerprint, kKernel));
}

TEST(CubinCache, SeveralAtATime) {
  TemporaryFolder folder;
  CubinCache cache(folder.path);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        KernelText kernel{"k" + std::to_string(i), "text"};
        if (std::optional<Cubin> found = cache.find(kFingerprint, kernel))
          EXPECT_EQ(found->code, kernel.name);
        cache.add(kFingerprint, kernel, cubin(kernel.name));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(entriesIn(folder.path + "/kernels"), 20u);
  EXPECT_EQ(entriesIn(folder.path + "/tmp"), 0u);
}
