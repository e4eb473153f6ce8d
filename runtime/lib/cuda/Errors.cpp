//===- Errors.cpp - what a CUDA error means for the user ----------------------------------------------------------===//

#include "cuda/Errors.h"

namespace moert {

namespace {

struct Known {
  cudaError_t error;
  int32_t code;
  bool loses; // the device, for this process
  const char *meaning;
};

constexpr const char *kFind = "CUDA_LAUNCH_BLOCKING=1 tells which kernel it was";

// What is not here is reported in CUDA's words, as a matter of the machine.
const Known kKnown[] = {
    {cudaErrorMemoryAllocation, kUserError, false, "out of memory"},
    {cudaErrorDevicesUnavailable, kUserError, false,
     "the GPU is busy or reserved (nvidia-smi shows its compute mode and who uses it)"},
    {cudaErrorSystemDriverMismatch, kUserError, false,
     "the parts of the NVIDIA driver have different versions; restart the machine or install the driver again"},
    {cudaErrorSystemNotReady, kUserError, false,
     "the NVIDIA driver is not ready (systems with NVSwitch need the service nvidia-fabricmanager)"},
    {cudaErrorStreamCaptureUnsupported, kUserError, false,
     "this cannot be captured in a graph; run the session once with the same sizes before the capture (a graph holds no "
     "copies or reads by the host)"},
    {cudaErrorStreamCaptureInvalidated, kUserError, false,
     "the capture of the stream has failed; run the session once with the same sizes before the capture (a graph holds no "
     "copies or reads by the host)"},

    {cudaErrorECCUncorrectable, kUserError, true, "the GPU's memory has a fault that cannot be corrected"},
    {cudaErrorNvlinkUncorrectable, kUserError, true, "an NVLink connection has a fault that cannot be corrected"},
    {cudaErrorLaunchTimeout, kUserError, true,
     "a kernel ran longer than the system allows (a GPU with a display has a deadline)"},

    {cudaErrorInvalidKernelImage, kInternal, false, "the machine code is damaged"},
    {cudaErrorNoKernelImageForDevice, kInternal, false, "the machine code is for another GPU"},
    {cudaErrorSymbolNotFound, kInternal, false, "the machine code lacks the kernel"},
    {cudaErrorLaunchOutOfResources, kInternal, false, "the kernel needs more registers or memory than a block has"},
    {cudaErrorInvalidConfiguration, kInternal, false, "the launch has an invalid size"},
    {cudaErrorInvalidValue, kInternal, false, "an invalid argument"},

    {cudaErrorIllegalAddress, kInternal, true, "a kernel accessed memory that is not its own"},
    {cudaErrorMisalignedAddress, kInternal, true, "a kernel accessed memory at a wrong alignment"},
    {cudaErrorInvalidAddressSpace, kInternal, true, "a kernel accessed memory of the wrong kind"},
    {cudaErrorIllegalInstruction, kInternal, true, "a kernel ran into an illegal instruction"},
    {cudaErrorInvalidPc, kInternal, true, "a kernel jumped to an invalid address"},
    {cudaErrorHardwareStackError, kInternal, true, "a kernel's call stack is damaged"},
    {cudaErrorAssert, kInternal, true, "an assertion of a kernel failed"},
    {cudaErrorLaunchFailure, kInternal, true, "a kernel failed"},
    {cudaErrorContextIsDestroyed, kInternal, true, "the GPU's context was destroyed"},
};

const Known *findKnown(cudaError_t error) {
  for (const Known &known : kKnown)
    if (known.error == error)
      return &known;
  return nullptr;
}

} // namespace

bool losesDevice(cudaError_t error) {
  const Known *known = findKnown(error);
  return known && known->loses;
}

Status cudaFailure(const CudaApi &api, cudaError_t error, const char *device, const char *what) {
  const Known *known = findKnown(error);
  const char *name = api.getErrorName(error);
  if (!known)
    return failure(kUserError, "%s: %s: %s (%s)", device, what, api.getErrorString(error), name);
  // Only kernels make internal errors that lose the device.
  bool kernel = known->loses && known->code == kInternal;
  return failure(known->code, "%s: %s: %s%s%s (%s)", device, what, known->meaning, kernel ? "; " : "",
                 kernel ? kFind : "", name);
}

} // namespace moert
