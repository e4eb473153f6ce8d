//===- OpenDevice.cpp - a runtime with CUDA -----------------------------------------------------------------------===//
//
// The counterpart of core/CpuOnly.cpp.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "cuda/CudaDevice.h"

namespace moert {

Status openDevice(const Selection &selection, const DeviceOptions &options, std::unique_ptr<Device> &device) {
  return openCudaDevice(cudaApi(), selection, options, device);
}

} // namespace moert
