//===- Cuda.h - from the kernel level to CUDA C++ ------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_TARGET_CUDA_H
#define MOE_MLIR_TARGET_CUDA_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace moe_mlir {

/// The pipeline `kernel-to-emitc`: from the kernels of the kernel level to CUDA C++ as emitc.
void buildKernelToEmitCPipeline(mlir::OpPassManager &pm);
void registerKernelToEmitCPipeline();

/// Writes the kernels of `module` (at the kernel level) as one CUDA C++ text on the device library; the host program is
/// left out. The module is not changed. Emits an error and writes nothing on failure.
mlir::LogicalResult emitCuda(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Registers `--kernel-to-cuda` of moe-translate.
void registerCudaTranslations();

} // namespace moe_mlir

#endif // MOE_MLIR_TARGET_CUDA_H
