//===- Object.h - from the runtime level to an object file ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_TARGET_OBJECT_H
#define MOE_MLIR_TARGET_OBJECT_H

#include "moe-mlir/Target/Nvrtc.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

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
  std::string weightsPath;        ///< of the archive, relative to the program's file; empty: there is none
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
