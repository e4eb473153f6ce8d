//===- CubinCacheTest.cpp - compiled kernels on disk --------------------------------------------------------------===//

#include "TemporaryFolder.h"
#include "moe-mlir/Target/Nvrtc.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
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

/// LLVM takes a '%' in the model of a file's name for a digit that it draws.
TEST(CubinCache, APercentSignInItsPath) {
  TemporaryFolder folder;
  const std::string path = folder.path + "/50%%";
  CubinCache(path).add(kFingerprint, kKernel, cubin("code"));
  EXPECT_TRUE(CubinCache(path).find(kFingerprint, kKernel));
  EXPECT_EQ(entriesIn(path + "/tmp"), 0u);
  EXPECT_EQ(entriesIn(folder.path), 1u);
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

TEST(CubinCache, ItsFoldersAreTheUsersAlone) {
  TemporaryFolder folder;
  const std::string path = folder.path + "/cache";
  CubinCache cache(path);
  cache.add(kFingerprint, kKernel, cubin("code"));
  for (std::string made : {path, path + "/kernels", path + "/tmp", cache.entry(kFingerprint, kKernel)}) {
    struct stat status;
    ASSERT_EQ(stat(made.c_str(), &status), 0) << made;
    EXPECT_EQ(status.st_mode & 0777, 0700u) << made;
  }
}

TEST(CubinCache, WhatOthersCanWriteIsNotUsed) {
  TemporaryFolder folder;
  const std::string path = folder.path + "/cache";
  CubinCache(path).add(kFingerprint, kKernel, cubin("code"));
  for (std::string open : {path, path + "/kernels", path + "/tmp"})
    for (mode_t mode : {0720, 0702}) {
      ASSERT_EQ(chmod(open.c_str(), mode), 0);
      CubinCache cache(path);
      EXPECT_FALSE(cache.find(kFingerprint, kKernel)) << open;
      cache.add(kFingerprint, {"other", "text"}, cubin("code"));
      EXPECT_EQ(entriesIn(path + "/kernels"), 1u);
      EXPECT_NE(cache.warning().find("others can write '" + open + "'"), llvm::StringRef::npos) << cache.warning().str();
      ASSERT_EQ(chmod(open.c_str(), 0700), 0);
      EXPECT_TRUE(CubinCache(path).find(kFingerprint, kKernel));
      EXPECT_EQ(CubinCache(path).warning(), "");
    }
  // One entry or one file: it is missing, and replaced.
  CubinCache cache(path);
  const std::string entry = cache.entry(kFingerprint, kKernel);
  for (std::string open : {entry, entry + "/kernel.cubin", entry + "/checksum"}) {
    ASSERT_EQ(chmod(open.c_str(), 0722), 0);
    EXPECT_FALSE(cache.find(kFingerprint, kKernel)) << open;
    cache.add(kFingerprint, kKernel, cubin("own"));
    EXPECT_TRUE(cache.find(kFingerprint, kKernel)) << open;
  }
  if (geteuid() != 0)
    return;
  for (std::string owned : {entry + "/kernel.cubin", entry}) {
    ASSERT_EQ(chown(owned.c_str(), 65534, 65534), 0);
    EXPECT_FALSE(cache.find(kFingerprint, kKernel)) << owned;
  }
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_NE(CubinCache(path).warning(), "");
}

TEST(CubinCache, WhatIsNoFileIsNoEntry) {
  for (std::string file : {"kernel.cubin", "kernel.cu", "log", "checksum"}) {
    TemporaryFolder folder;
    CubinCache cache(folder.path);
    cache.add(kFingerprint, kKernel, cubin("good"));
    const std::string path = cache.entry(kFingerprint, kKernel) + "/" + file, aside = folder.path + "/" + file;
    // A pipe would never end; a link may lead anywhere.
    ASSERT_FALSE(llvm::sys::fs::rename(path, aside));
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_FALSE(cache.find(kFingerprint, kKernel)) << file;
    cache.add(kFingerprint, kKernel, cubin("anew"));
    EXPECT_EQ(cache.find(kFingerprint, kKernel)->code, "anew") << file;
    EXPECT_EQ(entriesIn(cache.entry(kFingerprint, kKernel)), 4u);
    ASSERT_EQ(unlink(path.c_str()), 0);
    ASSERT_EQ(symlink(aside.c_str(), path.c_str()), 0);
    EXPECT_FALSE(cache.find(kFingerprint, kKernel)) << file;
    cache.add(kFingerprint, kKernel, cubin("again"));
    EXPECT_EQ(cache.find(kFingerprint, kKernel)->code, "again") << file;
  }
}
