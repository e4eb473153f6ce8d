//===- CudaDevices.cpp - what is known about GPUs -----------------------------------------------------------------===//

#include "moe-mlir/Analysis/CudaDevices.h"

#include "llvm/ADT/STLExtras.h"

using namespace moe_mlir;

// Multiprocessors, clocks, memory and tensor peaks (132 * 1.83 GHz * 4096 = 989 TFLOP/s) and f32 lanes (128, 2
// operations each) are the vendor's. The rate of the L2 cache is an assumption: the vendor does not state it.
static constexpr CudaDevice kDevices[] = {
    {"H200 SXM", "sm_90a", 132, 1.83e9, 4.8e12, 4096, 256, 128, 48},
    {"H100 SXM", "sm_90a", 132, 1.83e9, 3.35e12, 4096, 256, 128, 48},
};

llvm::ArrayRef<CudaDevice> moe_mlir::cudaDevices() { return kDevices; }

const CudaDevice *moe_mlir::findCudaDevice(llvm::StringRef arch) {
  const auto *device = llvm::find_if(kDevices, [&](const CudaDevice &device) { return device.arch == arch; });
  return device == std::end(kDevices) ? nullptr : device;
}
