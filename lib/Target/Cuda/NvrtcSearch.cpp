//===- NvrtcSearch.cpp - where NVRTC may be -----------------------------------------------------------------------===//

#include "moe-mlir/Support/FileKind.h"
#include "moe-mlir/Target/Nvrtc.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace moe_mlir;

/// Names by which the system's linker knows the library, newest first.
static constexpr StringLiteral kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

static std::string variable(StringRef name) { return sys::Process::GetEnv(name).value_or(""); }

NvrtcPlaces NvrtcPlaces::fromEnvironment() {
  NvrtcPlaces places;
  places.nvrtc = variable("MOE_NVRTC");
  places.cudaHome = variable("CUDA_HOME");
  places.cudaPath = variable("CUDA_PATH");
  places.virtualEnv = variable("VIRTUAL_ENV");
  for (StringRef name : {"python3", "python"})
    if (ErrorOr<std::string> python = sys::findProgramByName(name)) {
      // Not its real path: an environment's python is a link to the system's.
      places.python = sys::path::parent_path(sys::path::parent_path(*python)).str();
      break;
    }
  places.buildPython = MOE_BUILD_PYTHON;
  places.toolkit = "/usr/local/cuda";
  return places;
}

static std::string pathIn(StringRef folder, StringRef name) {
  SmallString<128> path(folder);
  sys::path::append(path, name);
  return path.str().str();
}

/// Paths in `folder` whose name passes `filter`, sorted.
static std::vector<std::string> list(StringRef folder, function_ref<bool(StringRef)> filter) {
  std::vector<std::string> found;
  std::error_code error;
  for (sys::fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (filter(sys::path::filename(it->path())))
      found.push_back(it->path());
  llvm::sort(found);
  return found;
}

/// Only files: opening a pipe would wait for a writer.
static void addLibraries(StringRef folder, std::vector<std::string> &libraries) {
  for (StringRef name : kNames)
    if (std::string path = pathIn(folder, name); sys::fs::is_regular_file(path))
      return libraries.push_back(path);
}

static void addToolkit(StringRef root, std::vector<std::string> &libraries) {
  if (!root.empty())
    for (StringRef name : {"lib64", "lib", "targets/x86_64-linux/lib"})
      addLibraries(pathIn(root, name), libraries);
}

/// PREFIX/lib/python3.*/site-packages/nvidia/*/lib, the newest CUDA first.
static void addPython(StringRef prefix, std::vector<std::string> &libraries) {
  if (prefix.empty())
    return;
  auto isPython = [](StringRef name) { return name.starts_with("python3"); };
  for (const std::string &python : list(pathIn(prefix, "lib"), isPython))
    for (StringRef packages : {"site-packages", "dist-packages"}) {
      std::vector<std::string> found = list(pathIn(pathIn(python, packages), "nvidia"), [](StringRef) { return true; });
      for (const std::string &package : reverse(found))
        addLibraries(pathIn(package, "lib"), libraries);
    }
}

Expected<std::vector<std::string>> moe_mlir::findNvrtc(const NvrtcPlaces &places) {
  std::vector<std::string> libraries;
  if (!places.nvrtc.empty()) {
    if (sys::fs::is_directory(places.nvrtc))
      addLibraries(places.nvrtc, libraries);
    else if (StringRef kind = kindIfNoFile(places.nvrtc); !kind.empty())
      return createStringError("MOE_NVRTC names '" + places.nvrtc + "', which is " + kind + ", no library");
    else if (sys::fs::exists(places.nvrtc))
      libraries.push_back(places.nvrtc);
    if (libraries.empty())
      return createStringError("MOE_NVRTC names '" + places.nvrtc + "', where there is no libnvrtc.so");
    return libraries;
  }
  addToolkit(places.cudaHome, libraries);
  addToolkit(places.cudaPath, libraries);
  for (StringRef prefix : {StringRef(places.virtualEnv), StringRef(places.python), StringRef(places.buildPython)})
    addPython(prefix, libraries);
  addToolkit(places.toolkit, libraries);
  for (StringRef name : kNames)
    libraries.push_back(name.str());
  return libraries;
}
