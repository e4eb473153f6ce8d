//===- NcclSearch.cpp - where NCCL may be -------------------------------------------------------------------------===//
//
// In the order in which the compiler looks for NVRTC (lib/Target/Cuda/NvrtcSearch.cpp).
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "cuda/Nccl.h"

#include <algorithm>
#include <cstdlib>
#include <dirent.h>
#include <sys/stat.h>

namespace moert {

static constexpr const char *kNames[] = {"libnccl.so.2", "libnccl.so"};

static std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

static bool isFile(const std::string &path) {
  struct stat about;
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

static bool isFolder(const std::string &path) {
  struct stat about;
  return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

static void addLibrary(const std::string &folder, std::vector<std::string> &libraries) {
  for (const char *name : kNames)
    if (std::string path = folder + "/" + name; isFile(path)) {
      libraries.push_back(path);
      return;
    }
}

static void addToolkit(const std::string &root, std::vector<std::string> &libraries) {
  if (!root.empty())
    for (const char *name : {"lib64", "lib", "targets/x86_64-linux/lib"})
      addLibrary(root + "/" + name, libraries);
}

/// Names in a folder, sorted.
static std::vector<std::string> list(const std::string &folder) {
  std::vector<std::string> names;
  DIR *open = opendir(folder.c_str());
  while (dirent *entry = open ? readdir(open) : nullptr)
    names.emplace_back(entry->d_name);
  if (open)
    closedir(open);
  std::sort(names.begin(), names.end());
  return names;
}

/// PREFIX/lib/python3.*/site-packages/nvidia/nccl/lib.
static void addPython(const std::string &prefix, std::vector<std::string> &libraries) {
  if (prefix.empty())
    return;
  for (const std::string &name : list(prefix + "/lib"))
    if (name.compare(0, 7, "python3") == 0)
      for (const char *packages : {"site-packages", "dist-packages"})
        addLibrary(prefix + "/lib/" + name + "/" + packages + "/nvidia/nccl/lib", libraries);
}

/// The folder above that of the first python3 in PATH. Not its real path: an environment's is a link to the system's.
static std::string pythonPrefix() {
  const std::string path = variable("PATH");
  for (size_t begin = 0; begin < path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    std::string folder = path.substr(begin, end - begin);
    if (size_t slash = folder.rfind('/'); slash != std::string::npos && isFile(folder + "/python3"))
      return folder.substr(0, slash);
    begin = end + 1;
  }
  return "";
}

Status findNccl(std::vector<std::string> &libraries) {
  if (std::string said = variable("MOE_NCCL"); !said.empty()) {
    if (isFolder(said))
      addLibrary(said, libraries);
    else if (isFile(said))
      libraries.push_back(said);
    return libraries.empty() ? failure(kUserError, "MOE_NCCL names '%s', where there is no libnccl.so.2", said.c_str())
                             : Status();
  }
  addToolkit(variable("CUDA_HOME"), libraries);
  addToolkit(variable("CUDA_PATH"), libraries);
  addPython(variable("VIRTUAL_ENV"), libraries);
  addPython(pythonPrefix(), libraries);
  addToolkit("/usr/local/cuda", libraries);
  for (const char *name : kNames)
    libraries.emplace_back(name);
  return {};
}

} // namespace moert
