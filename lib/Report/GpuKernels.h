//===- GpuKernels.h - what kernels are on a GPU, and how long they should take --------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_REPORT_GPUKERNELS_H
#define MOE_MLIR_LIB_REPORT_GPUKERNELS_H

#include "HostSizes.h"

#include "moe-mlir/Analysis/CudaCost.h"
#include "moe-mlir/Dialect/Cuda/IR/CudaLaunch.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Report/Report.h"

#include "llvm/ADT/StringMap.h"

namespace moe_mlir {

/// How the kernels of a module are launched, by their names, read from copies of them whose work is distributed to threads.
/// Kernels that convert-kernel-to-emitc has no form for are left out, without a message.
llvm::StringMap<mlir::cuda::CudaLaunch> launchesOnGpu(mlir::ModuleOp module);

/// What the time of a launch depends on, beside what every report counts.
struct GpuWork {
  /// A product with one weight: `rows` is left to the launch.
  struct Product {
    CudaProduct sizes;
    CudaTile tile;
  };
  std::vector<Product> products; ///< none: a row program
  SizeExpr blocks;               ///< of a row program: those with work
};

GpuWork gpuWorkOf(mlir::kernel::LaunchOp launch, mlir::kernel::FuncOp kernel, const mlir::cuda::CudaLaunch &shape,
                  HostSizes &host, SizeTable &table);

/// What is chosen for the kernel; times are left out.
GpuKernel describeGpuKernel(const GpuWork &work, const mlir::cuda::CudaLaunch &shape);

/// Of a launch that moves so many bytes.
CudaEstimate timeOnGpu(const CudaDevice &device, const GpuWork &work, int64_t rows, int64_t flops, int64_t bytes,
                       int64_t blocks);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_REPORT_GPUKERNELS_H
