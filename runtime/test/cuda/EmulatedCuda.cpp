//===- EmulatedCuda.cpp - a CUDA whose kernels run on the emulated GPU --------------------------------------------===//
//
// Its memory is the host's. Machine code is not looked at: kernels are functions `NAME_emulated` (Invoke.h of the
// emulation) of the shared object that $MOE_EMULATED_KERNELS names, compiled from the same text. A broken rule of the
// GPU ends the process with the rule's message. $MOE_EMULATION_SEED chooses the schedule.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "cuda/Api.h"

#include "moe_emulation.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <string>

using namespace moert;

namespace {

constexpr int kMultiprocessors = 3;
std::map<char *, size_t> blocks;

[[noreturn]] void stop(const char *what, const char *message) {
  std::fprintf(stderr, "emulated CUDA: %s: %s\n", what, message);
  std::exit(70);
}

cudaError_t driverGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t getDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t setDevice(int) { return cudaSuccess; }
cudaError_t getDeviceProperties(cudaDeviceProp *properties, int) {
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "emulated");
  properties->major = 9;
  properties->multiProcessorCount = kMultiprocessors;
  properties->sharedMemPerBlockOptin = 227 << 10;
  return cudaSuccess;
}
cudaError_t getLastError() { return cudaSuccess; }
const char *getErrorName(cudaError_t) { return "an error of the emulation"; }

cudaError_t allocate(void **base, size_t bytes) {
  // As cudaMalloc aligns; what nobody has written is NaN.
  size_t size = (bytes + 255) / 256 * 256;
  *base = std::aligned_alloc(1024, (size + 1023) / 1024 * 1024);
  if (!*base)
    return cudaErrorMemoryAllocation;
  std::memset(*base, 0xff, size);
  blocks[static_cast<char *>(*base)] = bytes;
  return cudaSuccess;
}
cudaError_t release(void *base) {
  blocks.erase(static_cast<char *>(base));
  std::free(base);
  return cudaSuccess;
}
cudaError_t memGetInfo(size_t *left, size_t *total) {
  *left = *total = 0;
  return cudaSuccess;
}
cudaError_t memcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t memsetAsync(void *to, int value, size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}

cudaError_t streamCreateWithFlags(cudaStream_t *stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(&blocks);
  return cudaSuccess;
}
cudaError_t streamIgnored(cudaStream_t) { return cudaSuccess; } // a launch has ended when it returns
cudaError_t eventCreate(cudaEvent_t *event) {
  *event = nullptr;
  return cudaSuccess;
}
cudaError_t eventIgnored(cudaEvent_t) { return cudaSuccess; }
cudaError_t eventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t eventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0; // the emulation has no time
  return cudaSuccess;
}

cudaError_t libraryLoadData(cudaLibrary_t *library, const void *, cudaJitOption *, void **, unsigned,
                            cudaLibraryOption *, void **, unsigned) {
  const char *path = std::getenv("MOE_EMULATED_KERNELS");
  void *opened = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!opened)
    stop("MOE_EMULATED_KERNELS", path ? dlerror() : "not set");
  *library = static_cast<cudaLibrary_t>(opened);
  return cudaSuccess;
}
cudaError_t libraryUnload(cudaLibrary_t) { return cudaSuccess; }
cudaError_t libraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
  *kernel = static_cast<cudaKernel_t>(dlsym(library, (std::string(name) + "_emulated").c_str()));
  return *kernel ? cudaSuccess : cudaErrorSymbolNotFound;
}
cudaError_t funcSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }

cudaError_t launchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
  moe_emulation_clear();
  for (auto &block : blocks)
    moe_emulation_register(block.first, block.second, "memory of the device", 1);
  const char *seed = std::getenv("MOE_EMULATION_SEED");
  moe_emulation_options options = {};
  options.blocks = static_cast<int32_t>(config->gridDim.x);
  options.threads = static_cast<int32_t>(config->blockDim.x);
  options.shared_bytes = static_cast<uint32_t>(config->dynamicSmemBytes);
  options.timing = MOE_EMULATION_RANDOM;
  options.seed = seed ? std::strtoull(seed, nullptr, 10) : 1;
  char message[1 << 12];
  auto kernel = reinterpret_cast<moe_emulation_kernel>(const_cast<void *>(function));
  if (moe_emulation_launch(kernel, arguments, &options, message, sizeof message))
    stop("a launch", message);
  return cudaSuccess;
}

CUresult encodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t, void *base, const cuuint64_t *sizes,
                     const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *, CUtensorMapInterleave,
                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  uint32_t element = static_cast<uint32_t>(strides[0] / sizes[0]);
  uint32_t widths[] = {0, 32, 64, 128};
  char message[256];
  (void)type;
  if (moe_emulation_encode_tile_2d(map, base, element, sizes[0], sizes[1], strides[0], box[0], box[1], widths[swizzle],
                                   message, sizeof message))
    stop("a map", message);
  return CUDA_SUCCESS;
}

cudaError_t getDriverEntryPoint(const char *, void **function, unsigned, unsigned long long,
                                cudaDriverEntryPointQueryResult *found) {
  *function = reinterpret_cast<void *>(encodeTiled);
  *found = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

} // namespace

const CudaApi &moert::cudaApi() {
  static constexpr CudaApi api = {driverGetVersion,
                                  getDeviceCount,
                                  setDevice,
                                  getDeviceProperties,
                                  getLastError,
                                  getErrorName,
                                  getErrorName,
                                  allocate,
                                  release,
                                  memGetInfo,
                                  memcpyAsync,
                                  memsetAsync,
                                  streamCreateWithFlags,
                                  streamIgnored,
                                  streamIgnored,
                                  streamIgnored,
                                  eventCreate,
                                  eventIgnored,
                                  eventRecord,
                                  eventIgnored,
                                  eventElapsedTime,
                                  libraryLoadData,
                                  libraryUnload,
                                  libraryGetKernel,
                                  funcSetAttribute,
                                  launchKernelExC,
                                  getDriverEntryPoint};
  return api;
}
