//===- Descriptor.h - the program descriptor as LLVM globals ------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_TARGET_CPU_DESCRIPTOR_H
#define MOE_MLIR_LIB_TARGET_CPU_DESCRIPTOR_H

#include "moe-mlir/Dialect/Kernel/IR/CpuTarget.h"
#include "moe-mlir/Target/Cpu.h"

namespace moe_mlir {

/// Adds `moert_model_programs` (moert_model.h), a list of one program, to `llvmModule`, from the attributes of `module`
/// (`moert.program`, `moe.name`, `moe.generation`). Emits an error if one of them does not fit.
mlir::LogicalResult addDescriptor(mlir::ModuleOp module, llvm::Module &llvmModule, const CpuObjectOptions &options,
                                  const mlir::kernel::CpuTarget &target);

/// The instruction sets that code for `target` may use and a launcher can test, comma-separated, with the names of
/// /proc/cpuinfo.
std::string cpuinfoFeatures(const mlir::kernel::CpuTarget &target);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_TARGET_CPU_DESCRIPTOR_H
