//===- CpuOnly.cpp - a runtime without GPUs -----------------------------------------------------------------------===//
//
// Linked in the place of lib/cuda into files whose programs are all for the CPU.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "core/Device.h"

namespace moert {

Status openDevice(const Selection &, const DeviceOptions &, std::unique_ptr<Device> &) {
  return failure(kInternal, "the program needs a runtime with CUDA, which is not linked into this file");
}

} // namespace moert
