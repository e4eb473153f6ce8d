//===- EmulatedCuda.cpp - a CUDA whose kernels run on the emulated GPU --------------------------------------------===//
//
// Its memory is the host's. Machine code is not looked at: kernels are functions `NAME_emulated` (Invoke.h of the
// emulation) of the shared object that $MOE_EMULATED_KERNELS names, compiled from the same text. A broken rule of the
// GPU ends the process with the rule's message. $MOE_EMULATION_SEED chooses the schedule, and
// $MOE_EMULATED_MULTIPROCESSORS how many there are (3).
//
// Ranks are threads of one process or processes: blocks are memory files, which another process maps as CUDA's handles
// say. Their launches run beside each other, in a process in turns. $MOE_EMULATED_FAULT plants a fault: with
// "hang RANK KERNEL" the GPU of that rank's process hangs from the first launch of a kernel whose name begins so, with
// "kill RANK KERNEL" the process ends there.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "cuda/Api.h"

#include "moe_emulation.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace moert;

namespace {

/// Memory that kernels find. `file`: of blocks of this process's own.
struct Block {
  size_t bytes;
  int file = -1;
};

std::mutex mutex; // of all that follows, and of the emulation
std::map<char *, Block> blocks;
bool areRanks = false, isSilent = false;

using Lock = std::lock_guard<std::mutex>;

/// The memory of which a block has its part.
size_t mappedBytes(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

[[noreturn]] void stop(const char *what, const char *message) {
  std::fprintf(stderr, "emulated CUDA: %s: %s\n", what, message);
  _exit(70); // other threads may be running
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
  const char *count = std::getenv("MOE_EMULATED_MULTIPROCESSORS");
  properties->multiProcessorCount = count ? std::atoi(count) : 3;
  properties->sharedMemPerBlockOptin = 227 << 10;
  return cudaSuccess;
}
cudaError_t getLastError() { return cudaSuccess; }
const char *getErrorName(cudaError_t) { return "an error of the emulation"; }

cudaError_t allocate(void **base, size_t bytes) {
  const size_t mapped = mappedBytes(bytes);
  const int file = memfd_create("emulated-gpu", MFD_CLOEXEC);
  void *memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, static_cast<off_t>(mapped)) == 0)
    memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    return cudaErrorMemoryAllocation;
  std::memset(memory, 0xff, bytes); // what nobody has written is NaN
  *base = memory;
  Lock lock(mutex);
  blocks[static_cast<char *>(memory)] = {bytes, file};
  return cudaSuccess;
}
cudaError_t release(void *base) {
  Lock lock(mutex);
  auto found = blocks.find(static_cast<char *>(base));
  munmap(base, mappedBytes(found->second.bytes));
  close(found->second.file);
  blocks.erase(found);
  return cudaSuccess;
}

/// What a handle holds here.
struct Handle {
  int64_t process, file;
  uint64_t bytes;
};
cudaError_t ipcGetMemHandle(cudaIpcMemHandle_t *handle, void *base) {
  Lock lock(mutex);
  const Block &block = blocks.at(static_cast<char *>(base));
  const Handle made{getpid(), block.file, block.bytes};
  std::memcpy(handle, &made, sizeof made);
  return cudaSuccess;
}
cudaError_t ipcOpenMemHandle(void **base, cudaIpcMemHandle_t handle, unsigned) {
  Handle wanted;
  std::memcpy(&wanted, &handle, sizeof wanted);
  if (wanted.process == getpid())
    return cudaErrorInvalidDevice; // as CUDA, which maps nothing twice in a process
  const std::string path = "/proc/" + std::to_string(wanted.process) + "/fd/" + std::to_string(wanted.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0)
    return cudaErrorMapBufferObjectFailed;
  void *memory = mmap(nullptr, mappedBytes(wanted.bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED)
    return cudaErrorMapBufferObjectFailed;
  *base = memory;
  Lock lock(mutex);
  blocks[static_cast<char *>(memory)] = {wanted.bytes, -1};
  return cudaSuccess;
}
cudaError_t ipcCloseMemHandle(void *base) {
  Lock lock(mutex);
  auto found = blocks.find(static_cast<char *>(base));
  munmap(base, mappedBytes(found->second.bytes));
  blocks.erase(found);
  return cudaSuccess;
}
cudaError_t hostAlloc(void **base, size_t bytes, unsigned) {
  *base = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *base ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t freeHost(void *base) {
  std::free(base);
  return cudaSuccess;
}
cudaError_t hostRegister(void *memory, size_t bytes, unsigned) {
  Lock lock(mutex);
  blocks[static_cast<char *>(memory)] = {bytes, -1};
  areRanks = true;
  return cudaSuccess;
}
cudaError_t hostUnregister(void *memory) {
  Lock lock(mutex);
  blocks.erase(static_cast<char *>(memory));
  return cudaSuccess;
}
cudaError_t hostGetDevicePointer(void **there, void *memory, unsigned) {
  *there = memory;
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
cudaError_t streamQuery(cudaStream_t) {
  Lock lock(mutex);
  return isSilent ? cudaErrorNotReady : cudaSuccess;
}
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

/// Whether this process is the rank whose GPU hangs, from this launch on.
bool hangs(const void *function) {
  const char *fault = std::getenv("MOE_EMULATED_FAULT"), *rank = std::getenv("MOE_RANK");
  Dl_info info;
  if (fault && rank && dladdr(function, &info) && info.dli_sname) {
    const std::string launch = std::string(" ") + rank + " " + info.dli_sname;
    if (("kill" + launch).rfind(fault, 0) == 0)
      kill(getpid(), SIGKILL);
    isSilent |= ("hang" + launch).rfind(fault, 0) == 0;
  }
  return isSilent;
}

/// A launch waits: another rank of this process has its turn.
void pause() {
  mutex.unlock();
  usleep(20);
  mutex.lock();
}

cudaError_t launchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
  Lock lock(mutex);
  if (hangs(function))
    return cudaSuccess;
  moe_emulation_clear();
  for (auto &[base, block] : blocks)
    moe_emulation_register(base, block.bytes, "memory of the device", 1);
  const char *seed = std::getenv("MOE_EMULATION_SEED");
  moe_emulation_options options = {};
  options.blocks = static_cast<int32_t>(config->gridDim.x);
  options.threads = static_cast<int32_t>(config->blockDim.x);
  options.shared_bytes = static_cast<uint32_t>(config->dynamicSmemBytes);
  options.timing = MOE_EMULATION_RANDOM;
  options.seed = seed ? std::strtoull(seed, nullptr, 10) : 1;
  char message[1 << 12];
  auto kernel = reinterpret_cast<moe_emulation_kernel>(const_cast<void *>(function));
  if (areRanks ? moe_emulation_launch_beside(kernel, arguments, &options, pause, message, sizeof message)
               : moe_emulation_launch(kernel, arguments, &options, message, sizeof message))
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

// For the NCCL of tests, whose memory is the emulated GPU's.
extern "C" {
__attribute__((visibility("default"))) int moe_emulated_allocate(void **base, size_t bytes) {
  return allocate(base, bytes);
}
__attribute__((visibility("default"))) int moe_emulated_free(void *base) { return release(base); }
__attribute__((visibility("default"))) int moe_emulated_offer(void *base, char *handle) {
  return ipcGetMemHandle(reinterpret_cast<cudaIpcMemHandle_t *>(handle), base);
}
/// Of a place in a block: its handle, and the bytes before it.
__attribute__((visibility("default"))) int moe_emulated_find(const void *place, char *handle, uint64_t *before) {
  auto *at = const_cast<char *>(static_cast<const char *>(place));
  {
    Lock lock(mutex);
    auto behind = blocks.upper_bound(at);
    if (behind == blocks.begin())
      return cudaErrorInvalidValue;
    *before = static_cast<uint64_t>(at - std::prev(behind)->first);
  }
  return moe_emulated_offer(at - *before, handle);
}
__attribute__((visibility("default"))) int moe_emulated_map(const char *handle, void **base) {
  return ipcOpenMemHandle(base, *reinterpret_cast<const cudaIpcMemHandle_t *>(handle), 0);
}
__attribute__((visibility("default"))) int moe_emulated_unmap(void *base) { return ipcCloseMemHandle(base); }
/// Whether the stream is captured, and `work` will be done whenever the graph runs.
__attribute__((visibility("default"))) int moe_emulated_note(void (*)(void *), void *) { return 0; }
}

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
                                  ipcGetMemHandle,
                                  ipcOpenMemHandle,
                                  ipcCloseMemHandle,
                                  hostAlloc,
                                  freeHost,
                                  hostRegister,
                                  hostUnregister,
                                  hostGetDevicePointer,
                                  streamCreateWithFlags,
                                  streamIgnored,
                                  streamIgnored,
                                  streamQuery,
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
