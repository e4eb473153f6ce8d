//===- Object.h - from the runtime level to an object file ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_TARGET_OBJECT_H
#define MOE_MLIR_TARGET_OBJECT_H

#include "moe-mlir/Support/CacheFolder.h"
#include "moe-mlir/Target/Nvrtc.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace moe_mlir {

/// What the compiler knows beyond the modules.
struct ObjectOptions {
  unsigned optLevel = 3; ///< 0 to 3
  std::string compiler;  ///< name and version of the compiler
  std::string targetCpu; ///< for host functions of kernels for a GPU; "native" if empty
};

/// A module at the runtime level: the programs of its host functions, all for one kind of device.
struct ProgramModule {
  mlir::ModuleOp module;
  std::string buildId;            ///< 32 hex digits, equal for equal programs; zeros if empty
  std::string weightsId;          ///< 32 hex digits that the archive of weights carries; zeros if empty
  std::string weightsPath = {};   ///< of the archive, relative to the program's file; empty: there is none
  const CudaCode *cuda = nullptr; ///< of the kernels, if `kernel.target` is a GPU
};

/// The modules as one of LLVM IR, not optimised: kernels for the CPU, host functions and the descriptor
/// `moert_model_programs`. Host functions are for the CPU of `kernel.target`, or for `targetCpu` where that is a GPU.
/// The modules are not changed. Emits an error and returns null on failure.
std::unique_ptr<llvm::Module> translateToLLVMIR(llvm::ArrayRef<ProgramModule> programs, llvm::LLVMContext &context,
                                                const ObjectOptions &options);

/// Runs LLVM's optimiser and code generator; writes an ELF object whose one global symbol is `moert_model_programs`.
/// Emits an error on failure; `os` may then hold a part of the object.
mlir::LogicalResult emitObject(llvm::ArrayRef<ProgramModule> programs, const ObjectOptions &options,
                               llvm::raw_pwrite_stream &os);

/// Machine code of parts of programs on disk. Several processes may use it at a time; where it cannot be written it is
/// only read.
class ObjectCache {
public:
  explicit ObjectCache(llvm::StringRef folder); ///< As `CacheFolder`.
  static ObjectCache fromEnvironment();         ///< That of `CacheFolder`.

  /// The object if it is there and whole. `settings`: what decides about it beside the part's bitcode and the compiler.
  std::optional<std::string> find(llvm::StringRef settings, llvm::StringRef bitcode) const;
  void add(llvm::StringRef settings, llvm::StringRef bitcode, llvm::StringRef object) const;
  /// Removes what is old or too much.
  void prune() const;

  /// Why there is no cache although a folder was given; empty otherwise.
  llvm::StringRef getWarning() const { return folder.getWarning(); }

private:
  std::string entry(llvm::StringRef settings, llvm::StringRef bitcode) const;

  CacheFolder folder;
  std::string version;
};

/// The same as several objects, which are linked together: each function is compiled by itself, in the threads of the
/// modules' context or by the cache. Objects are the same for any number of threads. Their symbols are hidden, but for
/// `moert_model_programs`. `progress` gets percentages, from one thread at a time.
mlir::FailureOr<std::vector<std::string>> emitObjects(llvm::ArrayRef<ProgramModule> programs,
                                                      const ObjectOptions &options, const ObjectCache &cache,
                                                      const std::function<void(unsigned)> &progress);

/// The same up to the optimised LLVM IR, as text.
mlir::LogicalResult emitLLVMIR(llvm::ArrayRef<ProgramModule> programs, const ObjectOptions &options,
                               llvm::raw_ostream &os);

/// The same up to assembly.
mlir::LogicalResult emitAssembly(llvm::ArrayRef<ProgramModule> programs, const ObjectOptions &options,
                                 llvm::raw_pwrite_stream &os);

/// Registers `--moe-to-object`, `--moe-to-assembly` and `--moe-to-llvmir` of moe-translate.
void registerObjectTranslations();
} // namespace moe_mlir

#endif // MOE_MLIR_TARGET_OBJECT_H
