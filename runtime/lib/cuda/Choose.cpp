//===- Choose.cpp - the GPU that a program runs on ----------------------------------------------------------------===//

#include "cuda/Choose.h"

#include "cuda/Errors.h"

#include <cstdlib>
#include <cstring>

namespace moert {

bool runsOn(const char *arch, int32_t major, int32_t minor) {
  if (std::strncmp(arch, "sm_", 3) != 0)
    return false;
  char *suffix;
  long number = std::strtol(arch + 3, &suffix, 10);
  if (suffix == arch + 3 || number / 10 != major)
    return false;
  // Code with features of one architecture (a) runs on no other one; without, on later ones of the same generation.
  return *suffix == 'a' ? number % 10 == minor : number % 10 <= minor;
}

static Status checkDriver(const CudaApi &api, int &count) {
  int version = 0;
  if (api.driverGetVersion(&version) != cudaSuccess || version == 0)
    return failure(kUserError, "no NVIDIA driver is installed, which the program needs to run on a GPU");
  cudaError_t error = api.getDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver)
    return failure(kUserError, "the NVIDIA driver is too old: it supports CUDA %d.%d, the program needs %d.%d",
                   version / 1000, version % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0))
    return failure(kUserError, "no NVIDIA GPU is visible (CUDA_VISIBLE_DEVICES may hide it)");
  if (error != cudaSuccess)
    return cudaFailure(api, error, "cuda", "starting the driver");
  return {};
}

int32_t numberOfRank(const CudaApi &api, int rank) {
  int count = 0;
  bool isKnown = api.getDeviceCount(&count) == cudaSuccess && count > 0; // what is wrong else, chooseGpu says
  (void)api.getLastError();
  return isKnown ? rank % count : 0;
}

Status chooseGpu(const CudaApi &api, const char *arch, int32_t ordinal, GpuFacts &facts) {
  int count = 0;
  if (Status s = checkDriver(api, count); s.failed())
    return s;
  if (ordinal >= count)
    return failure(kUserError, "there is no cuda:%d: this machine has %d GPU%s, from cuda:0", ordinal, count,
                   count == 1 ? "" : "s");
  std::string number = format("cuda:%d", ordinal);
  cudaDeviceProp properties;
  if (cudaError_t error = api.getDeviceProperties(&properties, ordinal); error != cudaSuccess)
    return cudaFailure(api, error, number.c_str(), "asking for its properties");
  facts.name = format("%s (%s)", number.c_str(), properties.name);
  facts.multiprocessors = properties.multiProcessorCount;
  facts.sharedBytes = static_cast<int64_t>(properties.sharedMemPerBlockOptin);
  if (!runsOn(arch, properties.major, properties.minor))
    return failure(kUnsupported, "the program was compiled for %s, which %s of compute capability %d.%d cannot run",
                   arch, facts.name.c_str(), properties.major, properties.minor);
  if (cudaError_t error = api.setDevice(ordinal); error != cudaSuccess)
    return cudaFailure(api, error, facts.name.c_str(), "opening it");
  return {};
}

} // namespace moert
