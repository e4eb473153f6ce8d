//===- CudaDevices.h - what is known about GPUs ---------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_ANALYSIS_CUDADEVICES_H
#define MOE_MLIR_ANALYSIS_CUDADEVICES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace moe_mlir {

/// Numbers of a GPU that the cost model uses.
struct CudaDevice {
  llvm::StringLiteral name, arch;
  int64_t multiprocessors;
  double hertz;                ///< boost clock
  double memoryBytesPerSecond; ///< of device memory
  // Per multiprocessor and cycle.
  double tensorFlops; ///< dense products of 16-bit floats
  double vectorFlops; ///< f32 outside of tensor cores
  double sharedBytes; ///< read or written in shared memory
  double cacheBytes;  ///< from the L2 cache

  double flopsPerSecond() const { return multiprocessors * hertz * tensorFlops; }
  double vectorFlopsPerSecond() const { return multiprocessors * hertz * vectorFlops; }
};

llvm::ArrayRef<CudaDevice> cudaDevices();
/// The GPU that kernels for `arch` are tuned for; null if there is none.
const CudaDevice *findCudaDevice(llvm::StringRef arch);

} // namespace moe_mlir

#endif // MOE_MLIR_ANALYSIS_CUDADEVICES_H
