//===- Descriptor.h - the program descriptors as LLVM globals -----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_TARGET_OBJECT_DESCRIPTOR_H
#define MOE_MLIR_LIB_TARGET_OBJECT_DESCRIPTOR_H

#include "ConstantBuilder.h"

#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Target/Object.h"

namespace moe_mlir {

/// A descriptor (`moert_program` of moert_model.h) in an LLVM module.
struct Descriptor {
  std::string entry, symbol;
};

/// Adds a descriptor for each host function of `lowered` (the module of `source` after convert-moert-to-llvm) to
/// `llvmModule`, from the attributes `moert.program`, `moert.parameters`, `moert.axes`, `moe.name` and `moe.generation`. Emits an
/// error if one of them does not fit.
mlir::LogicalResult addDescriptors(const ProgramModule &source, mlir::ModuleOp lowered, llvm::Module &llvmModule,
                                   const ObjectOptions &options, mlir::x86::TargetAttr target,
                                   mlir::SmallVectorImpl<Descriptor> &descriptors);

/// Adds `moert_model_programs`, the list of all programs; they become private.
void addProgramList(llvm::Module &llvmModule, mlir::ArrayRef<Descriptor> descriptors);

/// `moert_cuda_code` of a module for a GPU, for the entries of its table of kernels. Emits an error if a kernel has no
/// code or does not say how it is launched.
mlir::FailureOr<llvm::Constant *> makeCudaCode(const ProgramModule &source, llvm::GlobalVariable *kernels,
                                               ConstantBuilder &builder);

/// `moert_generation` of a program, from `moe.generation` of its module; null where it cannot generate text. Emits an error
/// if the two contradict each other.
mlir::FailureOr<llvm::Constant *> makeGeneration(ConstantBuilder &builder, mlir::ModuleOp module,
                                                 mlir::DictionaryAttr program);

/// The instruction sets that code for `target` may use and a launcher can test, comma-separated, with the names of
/// /proc/cpuinfo.
std::string cpuinfoFeatures(mlir::x86::TargetAttr target);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_TARGET_OBJECT_DESCRIPTOR_H
