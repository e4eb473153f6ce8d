//===- Cuda.h - from the kernel level to CUDA C++ ------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_TARGET_CUDA_H
#define MOE_MLIR_TARGET_CUDA_H

#include "moe-mlir/Target/Nvrtc.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace moe_mlir {

/// The kernels of a module at the runtime level (`emitc.func`) as CUDA C++ on the device library, a text for each, in
/// the order in which they stand there. Emits an error on failure.
mlir::FailureOr<std::vector<KernelText>> printKernels(mlir::ModuleOp module);

/// The same from the kernel level; the host program is left out. The module is not changed.
mlir::FailureOr<std::vector<KernelText>> emitCudaTexts(mlir::ModuleOp module);

/// The same as one text. Emits an error and writes nothing on failure.
mlir::LogicalResult emitCuda(mlir::ModuleOp module, llvm::raw_ostream &os);

/// Registers `--kernel-to-cuda` and `--kernel-to-cubin` of moe-translate.
void registerCudaTranslations();

} // namespace moe_mlir

#endif // MOE_MLIR_TARGET_CUDA_H
