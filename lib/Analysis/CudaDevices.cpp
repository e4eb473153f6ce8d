//===- CudaDevices.cpp - what is known about GPUs -----------------------------------------------------------------===//

#include "moe-mlir/Analysis/CudaDevices.h"

#include "llvm/ADT/STLExtras.h"

using namespace moe_mlir;

// Multiprocessors, clocks, memory and tensor peaks (132 * 1.83 GHz * 4096 = 989 TFLOP/s), f32 lanes (128, 2 operations
// each) and special function units are the vendor's. Dense bf16 products settle near 780 TFLOP/s at 700 W, which is a
// clock of 1.44 GHz; kernels that only read memory get about 0.9 of its rate. The rate of the L2 cache is an
// assumption: the vendor does not state it. None of these was measured by this project yet.
static constexpr CudaDevice kDevices[] = {
    {"h200", "H200 SXM", "sm_90a", 132, 1.83e9, 1.44e9, 4.8e12, 4.3e12, 4096, 256, 16, 128, 48, 141e9},
    {"h100", "H100 SXM", "sm_90a", 132, 1.83e9, 1.44e9, 3.35e12, 3.0e12, 4096, 256, 16, 128, 48, 80e9},
};

llvm::ArrayRef<CudaDevice> moe_mlir::cudaDevices() { return kDevices; }

const CudaDevice *moe_mlir::findCudaDevice(llvm::StringRef keyOrArch) {
  const auto *device = llvm::find_if(
      kDevices, [&](const CudaDevice &device) { return device.key == keyOrArch || device.arch == keyOrArch; });
  return device == std::end(kDevices) ? nullptr : device;
}

std::string moe_mlir::cudaDeviceKeys() {
  std::string keys;
  for (const CudaDevice &device : kDevices)
    keys += (keys.empty() ? "" : &device == std::end(kDevices) - 1 ? " or " : ", ") + device.key.str();
  return keys;
}

std::string moe_mlir::cudaDeviceNames(llvm::StringRef prefix) {
  std::string names;
  for (const CudaDevice &device : kDevices)
    names += prefix.str() + device.key.str() + ", ";
  return names + prefix.str() + kDevices[0].arch.str();
}
