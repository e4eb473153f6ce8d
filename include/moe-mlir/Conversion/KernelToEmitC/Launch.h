//===- Launch.h - how a kernel for a GPU is launched ----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_KERNELTOEMITC_LAUNCH_H
#define MOE_MLIR_CONVERSION_KERNELTOEMITC_LAUNCH_H

#include "moe-mlir/Dialect/Cuda/IR/CudaLaunch.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

namespace mlir::kernel {

/// Of a kernel whose work is distributed to threads: by its roles and their ring, or by what a lane of a row program has
/// in flight. Of several members, what the largest needs.
cuda::CudaLaunch launchOf(FuncOp func);

/// The kernels whose blocks make up those of `func`: its members, or itself.
SmallVector<FuncOp> partsOf(FuncOp func);

} // namespace mlir::kernel

#endif // MOE_MLIR_CONVERSION_KERNELTOEMITC_LAUNCH_H
