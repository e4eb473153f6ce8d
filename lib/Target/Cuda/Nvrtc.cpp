//===- Nvrtc.cpp - loads NVRTC and compiles kernels with it -------------------------------------------------------===//

#include "moe-mlir/Target/Nvrtc.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/BuildID.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <thread>

using namespace llvm;
using namespace moe_mlir;

/// The part of nvrtc.h that is used; the C interface is the same since CUDA 11.
struct Nvrtc::Functions {
  using Program = struct OpaqueProgram *;
  using Result = int; // 0 is success

  const char *(*errorString)(Result);
  Result (*version)(int *major, int *minor);
  Result (*create)(Program *, const char *source, const char *name, int headers, const char *const *texts,
                   const char *const *names);
  Result (*destroy)(Program *);
  Result (*compile)(Program, int count, const char *const *options);
  Result (*cubinSize)(Program, size_t *);
  Result (*cubin)(Program, char *);
  Result (*logSize)(Program, size_t *);
  Result (*log)(Program, char *);
};

/// The options of every kernel. Never --Ofast-compile: it serialises wgmma and ignores setmaxnreg.
static std::vector<std::string> optionsFor(StringRef arch) {
  return {("-arch=" + arch).str(), "-std=c++17", "--ptxas-options=-v"};
}

/// libnvrtc opens its builtins by their bare name, which finds nothing beside it: they must be loaded before.
static void loadBuiltins(StringRef folder) {
  std::error_code error;
  for (sys::fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (sys::path::filename(it->path()).starts_with("libnvrtc-builtins.so") && sys::fs::is_regular_file(it->path()))
      (void)dlopen(it->path().c_str(), RTLD_NOW | RTLD_GLOBAL); // without them the first kernel fails with a message
}

static std::string buildIdOf(StringRef path) {
  Expected<object::OwningBinary<object::ObjectFile>> file = object::ObjectFile::createObjectFile(path);
  if (!file) {
    consumeError(file.takeError());
    return "";
  }
  return toHex(object::getBuildID(file->getBinary()), /*LowerCase=*/true);
}

Expected<std::unique_ptr<Nvrtc>> Nvrtc::load(const NvrtcPlaces &places) {
  Expected<std::vector<std::string>> libraries = findNvrtc(places);
  if (!libraries)
    return libraries.takeError();
  for (const std::string &path : *libraries) {
    if (StringRef folder = sys::path::parent_path(path); !folder.empty())
      loadBuiltins(folder);
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto functions = std::make_shared<Functions>();
    const char *missing = nullptr;
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      if (!function)
        missing = name;
    };
    if (handle) {
      find(functions->errorString, "nvrtcGetErrorString");
      find(functions->version, "nvrtcVersion");
      find(functions->create, "nvrtcCreateProgram");
      find(functions->destroy, "nvrtcDestroyProgram");
      find(functions->compile, "nvrtcCompileProgram");
      find(functions->cubinSize, "nvrtcGetCUBINSize");
      find(functions->cubin, "nvrtcGetCUBIN");
      find(functions->logSize, "nvrtcGetProgramLogSize");
      find(functions->log, "nvrtcGetProgramLog");
    }
    int major = 0, minor = 0;
    if (!handle || missing || functions->version(&major, &minor) != 0 || major < 12) {
      if (places.nvrtc.empty())
        continue;
      return createStringError("MOE_NVRTC names '" + path + "', which is no NVRTC of CUDA 12 or newer" +
                               (handle ? "" : std::string(": ") + dlerror()));
    }
    std::unique_ptr<Nvrtc> nvrtc(new Nvrtc);
    nvrtc->functions = std::move(functions);
    // By a bare name the system's linker has chosen the file.
    Dl_info info;
    bool known = dladdr(reinterpret_cast<void *>(nvrtc->functions->version), &info) && info.dli_fname;
    nvrtc->library = known ? info.dli_fname : path;
    nvrtc->versionText = std::to_string(major) + "." + std::to_string(minor) + " (" + buildIdOf(nvrtc->library) + ")";
    return nvrtc;
  }
  return createStringError(
      "CUDA kernels are compiled by NVRTC, which is not in CUDA_HOME, CUDA_PATH, the Python environment or "
      "on the linker's path: run 'pip install nvidia-cuda-nvrtc' or set MOE_NVRTC to its folder");
}

Expected<Cubin> Nvrtc::compile(const KernelText &kernel, StringRef arch) const {
  const Functions &f = *functions;
  auto fail = [&](const Twine &text) { return createStringError("kernel '" + kernel.name + "': " + text); };
  static const std::string library = deviceLibrary().str();
  const char *texts[] = {library.c_str()}, *names[] = {"device.cuh"};
  Functions::Program program = nullptr;
  if (int code = f.create(&program, kernel.source.c_str(), (kernel.name + ".cu").c_str(), 1, texts, names))
    return fail("NVRTC: " + StringRef(f.errorString(code)));
  scope_exit destroy([&] { f.destroy(&program); });

  std::vector<std::string> options = optionsFor(arch);
  std::vector<const char *> pointers;
  for (const std::string &option : options)
    pointers.push_back(option.c_str());
  int code = f.compile(program, pointers.size(), pointers.data());
  Cubin cubin;
  size_t size = 0;
  if (f.logSize(program, &size) == 0 && size > 1) {
    cubin.log.resize(size);
    f.log(program, cubin.log.data());
    cubin.log.resize(size - 1); // its terminating zero
  }
  if (code) {
    // The line of the first error; a failure of ptxas or of NVRTC itself has none.
    SmallVector<StringRef> lines;
    StringRef(cubin.log).split(lines, '\n', -1, /*KeepEmpty=*/false);
    for (StringRef line : lines)
      if (line.contains("error"))
        return fail(line.trim());
    return fail("NVRTC: " + StringRef(f.errorString(code)) + (lines.empty() ? "" : ": " + lines.front().trim().str()));
  }
  if (f.cubinSize(program, &size) != 0 || size == 0)
    return fail("NVRTC gives no machine code for " + arch);
  cubin.code.resize(size);
  if (int failed = f.cubin(program, cubin.code.data()))
    return fail("NVRTC: " + StringRef(f.errorString(failed)));
  readLog(kernel.name, cubin);
  return cubin;
}

std::string Nvrtc::fingerprint(StringRef arch) const {
  return "nvrtc " + versionText + "\n" + llvm::join(optionsFor(arch), " ") + "\n" + deviceLibrary().str();
}

Expected<std::vector<Cubin>> moe_mlir::compileKernels(const Nvrtc &nvrtc, const CubinCache &cache,
                                                      ArrayRef<KernelText> kernels, StringRef arch, unsigned threads,
                                                      const std::function<void(size_t)> &progress) {
  const std::string fingerprint = nvrtc.fingerprint(arch);
  std::vector<Cubin> cubins(kernels.size());
  std::vector<std::string> errors(kernels.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  size_t done = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < kernels.size() && !failed;) {
      if (std::optional<Cubin> found = cache.find(fingerprint, kernels[i])) {
        cubins[i] = std::move(*found);
      } else if (Expected<Cubin> compiled = nvrtc.compile(kernels[i], arch)) {
        cubins[i] = std::move(*compiled);
        cache.add(fingerprint, kernels[i], cubins[i]);
      } else {
        errors[i] = toString(compiled.takeError());
        failed = true;
      }
      std::lock_guard<std::mutex> lock(mutex);
      ++done;
      if (progress)
        progress(done);
    }
  };
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min<size_t>(threads, kernels.size()); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  for (const std::string &error : errors)
    if (!error.empty())
      return createStringError(error);
  return cubins;
}
