//===- CodeGenerator.h - LLVM's optimiser and code generator -------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_TARGET_OBJECT_CODEGENERATOR_H
#define MOE_MLIR_LIB_TARGET_OBJECT_CODEGENERATOR_H

#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Target/Object.h"

#include "llvm/Support/CodeGen.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace moe_mlir {

/// The code generator for a CPU. Emits an error and returns null on failure.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(mlir::Location loc, mlir::x86::TargetAttr target,
                                                       unsigned optLevel);

void optimize(llvm::Module &module, llvm::TargetMachine &machine, unsigned optLevel);

/// Writes an object or assembly of an optimised module. Emits an error on failure.
mlir::LogicalResult generate(mlir::Location loc, llvm::Module &module, llvm::TargetMachine &machine,
                             llvm::raw_pwrite_stream &os, llvm::CodeGenFileType type);

/// Optimises and generates each function of `module` by itself, in the threads of `loc`'s context or by the cache:
/// objects that are linked together, the same ones for any number of threads. `progress` gets the percentage that is
/// done, from one thread at a time. Changes `module`: what one part needs of another gets a name for the linker. Emits
/// an error on failure.
mlir::FailureOr<std::vector<std::string>> generateParts(mlir::Location loc, llvm::Module &module,
                                                        mlir::x86::TargetAttr target, unsigned optLevel,
                                                        const ObjectCache &cache,
                                                        const std::function<void(unsigned)> &progress);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_TARGET_OBJECT_CODEGENERATOR_H
