//===- Nvrtc.h - CUDA C++ to machine code by NVRTC ------------------------------------------------------*- C++ -*-===//
//
// NVRTC is a library of CUDA that compiles for a GPU without one, and without a driver. It is loaded when it is needed:
// the compiler itself does not depend on CUDA.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_TARGET_NVRTC_H
#define MOE_MLIR_TARGET_NVRTC_H

#include "moe-mlir/Support/CacheFolder.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace moe_mlir {

/// Text of the device library, `device.cuh` with all that it includes: what `#include "device.cuh"` gives a kernel.
llvm::StringRef deviceLibrary();

/// Where NVRTC is looked for. Empty strings are left out.
struct NvrtcPlaces {
  std::string nvrtc;       ///< $MOE_NVRTC: the library, or its folder. Nothing else is looked at then.
  std::string cudaHome;    ///< $CUDA_HOME: a CUDA installation
  std::string cudaPath;    ///< $CUDA_PATH: likewise
  std::string virtualEnv;  ///< $VIRTUAL_ENV: a Python environment with the package nvidia-cuda-nvrtc
  std::string python;      ///< prefix of the python on PATH
  std::string buildPython; ///< prefix of the Python that the compiler was built with
  std::string toolkit;     ///< where CUDA is installed unless somebody says otherwise

  static NvrtcPlaces fromEnvironment();
};

/// The library files to try, in order: those that exist in the places above, then the names by which the system's
/// linker knows them. An error if `nvrtc` is given and has none, or names no file.
llvm::Expected<std::vector<std::string>> findNvrtc(const NvrtcPlaces &places);

/// A kernel as text: one function, `extern "C"`, of that name.
struct KernelText {
  std::string name, source;
};

/// A compiled kernel.
struct Cubin {
  std::string code, log;
  bool fromCache = false;

  /// What ptxas says of the code.
  int registers = 0, spillBytes = 0, stackBytes = 0;
  /// Each a reason why the kernel is slower than its text: spilled registers, ptxas's words on wgmma and setmaxnreg.
  std::vector<std::string> warnings;
};

/// The kernels of a module, each with its text and its code.
struct CudaCode {
  std::string arch;
  std::vector<KernelText> texts;
  std::vector<Cubin> cubins;
};

/// Reads the log of `--ptxas-options=-v` into the other fields.
void readLog(llvm::StringRef kernel, Cubin &cubin);

/// A loaded NVRTC. May be used by several threads.
class Nvrtc {
public:
  /// Loads the first library that `findNvrtc` gives and that can be loaded. The error is one line that says what to
  /// install.
  static llvm::Expected<std::unique_ptr<Nvrtc>> load(const NvrtcPlaces &places = NvrtcPlaces::fromEnvironment());

  llvm::StringRef path() const { return library; }
  /// "13.0 (65be0d...)": the version and the build of the library.
  llvm::StringRef version() const { return versionText; }

  /// Compiles for `arch` ("sm_90a"). An error carries the first message of the compiler and names the kernel.
  llvm::Expected<Cubin> compile(const KernelText &kernel, llvm::StringRef arch) const;
  /// What decides about the result beside the kernel: compiler, options, device library.
  std::string fingerprint(llvm::StringRef arch) const;

private:
  Nvrtc() = default;
  struct Functions;
  std::shared_ptr<const Functions> functions;
  std::string library, versionText;
};

/// Compiled kernels on disk: a folder per kernel, named by the hash of everything that decides about its code. Several
/// processes may use it at a time; where it cannot be written it is only read. Nothing is taken that others than the
/// user and root own or can write.
class CubinCache {
public:
  /// `folder` empty, or one that others can write: no cache.
  explicit CubinCache(llvm::StringRef folder);
  static CubinCache fromEnvironment(); ///< That of `CacheFolder`.

  /// The kernel's code if it is there and whole.
  std::optional<Cubin> find(llvm::StringRef fingerprint, const KernelText &kernel) const;
  void add(llvm::StringRef fingerprint, const KernelText &kernel, const Cubin &cubin) const;

  /// Why there is no cache although a folder was given; empty otherwise.
  llvm::StringRef warning() const { return folder.getWarning(); }

  /// Where the kernel's folder is.
  std::string entry(llvm::StringRef fingerprint, const KernelText &kernel) const;

private:
  CacheFolder folder;
};

/// Compiles all kernels, by the cache or in `threads` threads (0: as many as cores). `progress` gets the number of
/// finished kernels, from one thread at a time. The error is that of the first kernel that has one.
llvm::Expected<std::vector<Cubin>> compileKernels(const Nvrtc &nvrtc, const CubinCache &cache,
                                                  llvm::ArrayRef<KernelText> kernels, llvm::StringRef arch,
                                                  unsigned threads = 0,
                                                  const std::function<void(size_t)> &progress = nullptr);

} // namespace moe_mlir

#endif // MOE_MLIR_TARGET_NVRTC_H
