//===- NcclTest.cpp - where NCCL is looked for --------------------------------------------------------------------===//

#include "cuda/Nccl.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace nccl_search {

using namespace moert;

/// A folder for libraries, and an environment without any other.
class NcclSearch : public testing::Test {
protected:
  NcclSearch() : root(testing::TempDir() + "nccl" + std::to_string(getpid())) {
    mkdir(root.c_str(), 0700);
    for (const char *name : {"MOE_NCCL", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV"})
      unsetenv(name);
    path = std::getenv("PATH");
    setenv("PATH", "/none", 1);
  }
  ~NcclSearch() override { setenv("PATH", path.c_str(), 1); }

  /// An empty file, in folders that are made.
  std::string put(const std::string &name) {
    for (size_t at = 0; (at = name.find('/', at + 1)) != std::string::npos;)
      mkdir((root + "/" + name.substr(0, at)).c_str(), 0700);
    std::ofstream(root + "/" + name) << "";
    return root + "/" + name;
  }
  /// What is found, without what the machine has.
  std::vector<std::string> found() {
    std::vector<std::string> all, own;
    EXPECT_FALSE(findNccl(all).failed());
    EXPECT_EQ(all.size() >= 2 ? all[all.size() - 2] : "", "libnccl.so.2"); // the system's linker comes last
    for (const std::string &one : all)
      if (one.compare(0, root.size(), root) == 0)
        own.push_back(one);
    return own;
  }

  std::string root, path;
};

TEST_F(NcclSearch, TakesPlacesInTheirOrder) {
  EXPECT_EQ(found(), std::vector<std::string>());
  std::string home = put("home/lib64/libnccl.so.2"), toolkit = put("toolkit/targets/x86_64-linux/lib/libnccl.so");
  std::string venv = put("venv/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
  std::string python = put("python/lib/python3.12/dist-packages/nvidia/nccl/lib/libnccl.so.2");
  put("python/bin/python3");
  setenv("CUDA_HOME", (root + "/home").c_str(), 1);
  setenv("CUDA_PATH", (root + "/toolkit").c_str(), 1);
  setenv("VIRTUAL_ENV", (root + "/venv").c_str(), 1);
  setenv("PATH", ("/none:" + root + "/python/bin:/none").c_str(), 1);
  EXPECT_EQ(found(), (std::vector<std::string>{home, toolkit, venv, python}));
}

TEST_F(NcclSearch, TakesWhatIsNamedAlone) {
  std::string file = put("own/libnccl.so.2");
  std::vector<std::string> libraries;
  for (const std::string &name : {file, root + "/own"}) {
    setenv("MOE_NCCL", name.c_str(), 1);
    libraries.clear();
    ASSERT_FALSE(findNccl(libraries).failed());
    EXPECT_EQ(libraries, std::vector<std::string>{file});
  }
  setenv("MOE_NCCL", root.c_str(), 1);
  libraries.clear();
  EXPECT_EQ(findNccl(libraries).message, "MOE_NCCL names '" + root + "', where there is no libnccl.so.2");
}

TEST_F(NcclSearch, SaysVersions) {
  EXPECT_EQ(ncclVersionText(22907), "2.29.7");
  EXPECT_EQ(ncclVersionText(kNcclWindows), "2.29.2");
}

} // namespace nccl_search
