//===- Cpu.h - from the runtime level to an object file for the CPU -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_TARGET_CPU_H
#define MOE_MLIR_TARGET_CPU_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace moe_mlir {

/// What the compiler knows beyond the module. Everything goes into the descriptor, except the optimisation level.
struct CpuObjectOptions {
  unsigned optLevel = 3;   ///< 0 to 3
  std::string buildId;     ///< 32 hex digits that the archive of weights carries, too; zeros if empty
  std::string compiler;    ///< name and version of the compiler
  std::string targetCpu;   ///< as the user gave it; the module's CPU if empty
  std::string weightsPath; ///< of the archive, relative to the program's file
};

/// The module (at the runtime level) as LLVM IR for its `kernel.target`, not optimised: kernels, host function and the
/// descriptor `moert_model_programs`. The module is not changed. Emits an error and returns null on failure.
std::unique_ptr<llvm::Module> translateToLLVMIR(mlir::ModuleOp module, llvm::LLVMContext &context,
                                                const CpuObjectOptions &options);

/// Runs LLVM's optimiser and code generator for the module's CPU; writes an ELF object whose one global symbol is
/// `moert_model_programs`. Emits an error on failure; `os` may then hold a part of the object.
mlir::LogicalResult emitObject(mlir::ModuleOp module, const CpuObjectOptions &options, llvm::raw_pwrite_stream &os);

/// The same up to the optimised LLVM IR, as text.
mlir::LogicalResult emitLLVMIR(mlir::ModuleOp module, const CpuObjectOptions &options, llvm::raw_ostream &os);

/// The same up to assembly.
mlir::LogicalResult emitAssembly(mlir::ModuleOp module, const CpuObjectOptions &options, llvm::raw_pwrite_stream &os);

/// The pipeline `kernel-to-runtime`: from the kernel level (with `kernel.target`) to the runtime level.
void buildKernelToRuntimePipeline(mlir::OpPassManager &pm);
void registerKernelToRuntimePipeline();

/// Registers `--moe-to-object`, `--moe-to-assembly` and `--moe-to-llvmir` of moe-translate.
void registerCpuTranslations();
} // namespace moe_mlir

#endif // MOE_MLIR_TARGET_CPU_H
