//===- CudaDevices.h - what is known about GPUs ---------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_ANALYSIS_CUDADEVICES_H
#define MOE_MLIR_ANALYSIS_CUDADEVICES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace moe_mlir {

/// Numbers of a GPU that the cost model uses.
struct CudaDevice {
  llvm::StringLiteral key;  ///< in --target=cuda:KEY and in `kernel.target`
  llvm::StringLiteral name; ///< the vendor's
  llvm::StringLiteral arch; ///< as NVRTC calls it
  int64_t multiprocessors;
  double hertz;                   ///< boost clock
  double limitedHertz;            ///< clock that the power limit leaves when all tensor cores are busy
  double memoryBytesPerSecond;    ///< of device memory, by the vendor
  double reachableBytesPerSecond; ///< of it, what a kernel that only reads gets
  // Per multiprocessor and cycle.
  double tensorFlops; ///< dense products of 16-bit floats
  double vectorFlops; ///< f32 outside of tensor cores
  double specials;    ///< reciprocals, powers of two and the like
  double sharedBytes; ///< read or written in shared memory
  double cacheBytes;  ///< from the L2 cache, at the boost clock
  double memoryBytes; ///< of device memory, all of it

  double flopsPerSecond() const { return multiprocessors * hertz * tensorFlops; }
  double vectorFlopsPerSecond() const { return multiprocessors * hertz * vectorFlops; }
};

llvm::ArrayRef<CudaDevice> cudaDevices();
/// The GPU of that key, or the first one of that architecture, which kernels for any of it are tuned for; null if there
/// is none.
const CudaDevice *findCudaDevice(llvm::StringRef keyOrArch);
/// The keys of all, for messages: "a, b or c".
std::string cudaDeviceKeys();
/// The keys of all and, last, the architecture of the first, each behind `prefix`.
std::string cudaDeviceNames(llvm::StringRef prefix);

} // namespace moe_mlir

#endif // MOE_MLIR_ANALYSIS_CUDADEVICES_H
