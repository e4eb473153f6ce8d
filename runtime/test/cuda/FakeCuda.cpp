//===- FakeCuda.cpp - a CUDA that records, and fails where it is told to ------------------------------------------===//

#include "FakeCuda.h"

#include "core/Status.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

using namespace moert;

static FakeCuda *fake;

const CudaApi &moert::cudaApi() { return fake->api(); }

cudaError_t FakeCuda::enter(const char *function, const std::string &line) {
  calls.push_back(line.empty() ? function : std::string(function) + " " + line);
  auto failure = failures.find(function);
  if (failure == failures.end())
    return cudaSuccess;
  last = failure->second;
  failures.erase(failure);
  return last;
}

cudaError_t FakeCuda::checkState(const char *function, bool waits, bool captures) {
  if (hangs && waits) {
    std::fprintf(stderr, "%s would wait for ever\n", function);
    std::abort();
  }
  if (!capturing || captures)
    return cudaSuccess;
  captureFailed = true;
  return last = cudaErrorStreamCaptureUnsupported;
}

void FakeCuda::endHanging() {
  hanging.clear();
  hangs = false;
  late.clear();
}

std::vector<std::string> FakeCuda::take() {
  std::vector<std::string> taken;
  for (const std::string &call : calls)
    if (call.compare(0, 3, "get") != 0 && call.compare(0, 9, "setDevice") != 0 && call != "query")
      taken.push_back(call);
  calls.clear();
  return taken;
}

static cudaError_t driverGetVersion(int *version) {
  *version = fake->driver;
  return fake->enter("getDriverVersion", "");
}

static cudaError_t getDeviceCount(int *count) {
  *count = fake->devices;
  if (fake->driver < CUDART_VERSION / 1000 * 1000)
    return cudaErrorInsufficientDriver;
  return fake->devices ? fake->enter("getDeviceCount", "") : cudaErrorNoDevice;
}

static cudaError_t setDevice(int device) { return fake->enter("setDevice", format("%d", device)); }

static cudaError_t getDeviceProperties(cudaDeviceProp *properties, int device) {
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "Fake");
  properties->major = fake->major;
  properties->minor = fake->minor;
  properties->multiProcessorCount = fake->multiprocessors;
  properties->sharedMemPerBlockOptin = 227 << 10;
  return fake->enter("getDeviceProperties", format("%d", device));
}

static cudaError_t getLastError() {
  cudaError_t error = fake->last;
  fake->last = cudaSuccess;
  return error;
}

static const char *getErrorName(cudaError_t) { return "cudaErrorOfTest"; }
static const char *getErrorString(cudaError_t) { return "in the words of CUDA"; }

static void *mapFile(int file, size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

static void freeBlock(void *base, const FakeCuda::Block &block) {
  if (block.file < 0)
    return std::free(base);
  munmap(base, block.bytes);
  close(block.file);
}

static cudaError_t allocate(void **base, size_t bytes) {
  if (cudaError_t error = fake->checkState("cudaMalloc", /*waits=*/false, /*captures=*/false))
    return error;
  if (cudaError_t error = fake->enter("malloc", format("%zu", bytes)))
    return error;
  if (bytes > fake->memory - fake->used)
    return fake->last = cudaErrorMemoryAllocation;
  const int file = fake->sharesMemory ? memfd_create("fake-gpu", MFD_CLOEXEC) : -1;
  if (fake->sharesMemory)
    *base = ftruncate(file, static_cast<off_t>(bytes)) ? nullptr : mapFile(file, bytes);
  else
    *base = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*base, 0xa5, bytes);
  fake->blocks[*base] = {bytes, file};
  fake->used += bytes;
  return cudaSuccess;
}

static cudaError_t release(void *base) {
  if (cudaError_t error = fake->checkState("cudaFree", /*waits=*/true, /*captures=*/false))
    return error;
  const FakeCuda::Block block = fake->blocks.at(base);
  cudaError_t error = fake->enter("free", format("%zu", block.bytes));
  fake->used -= block.bytes;
  fake->blocks.erase(base);
  freeBlock(base, block);
  return error;
}

static cudaError_t memGetInfo(size_t *left, size_t *total) {
  *left = fake->memory - fake->used;
  *total = fake->memory;
  return cudaSuccess;
}

static bool isShared(void *memory, size_t bytes) {
  auto next = fake->shared.upper_bound(static_cast<char *>(memory));
  if (next == fake->shared.begin())
    return false;
  auto &[base, size] = *std::prev(next);
  return static_cast<char *>(memory) + bytes <= base + size;
}

/// The host's other memory is always pageable here: to copy is to wait, and a graph would keep the address.
static cudaError_t memcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  if (kind == cudaMemcpyDeviceToDevice) {
    fake->onStream([=] { std::memcpy(to, from, bytes); });
    return fake->enter("copy", format("%zu", bytes));
  }
  if (kind == cudaMemcpyDeviceToHost && isShared(to, bytes)) {
    fake->onStream([=] { std::memcpy(to, from, bytes); });
    return fake->enter("mirror", format("%zu", bytes));
  }
  if (cudaError_t error = fake->checkState("cudaMemcpyAsync", /*waits=*/true, /*captures=*/false))
    return error;
  std::memcpy(to, from, bytes);
  return fake->enter(kind == cudaMemcpyHostToDevice ? "upload" : "download", format("%zu", bytes));
}

/// What a handle holds of memory that is shared; of other memory, its address.
struct SharedBlock {
  int64_t process, file;
  uint64_t bytes;
};
static cudaError_t ipcGetMemHandle(cudaIpcMemHandle_t *handle, void *base) {
  const FakeCuda::Block &block = fake->blocks.at(base);
  const SharedBlock made{getpid(), block.file, block.bytes};
  if (fake->sharesMemory)
    std::memcpy(handle, &made, sizeof made);
  else
    std::memcpy(handle, &base, sizeof base);
  return fake->enter("ipcGetHandle", format("%zu", block.bytes));
}
static cudaError_t ipcOpenMemHandle(void **base, cudaIpcMemHandle_t handle, unsigned) {
  if (!fake->sharesMemory) {
    std::memcpy(base, &handle, sizeof *base);
    return fake->enter("ipcOpen", format("%zu", fake->blocks.at(*base).bytes));
  }
  SharedBlock wanted;
  std::memcpy(&wanted, &handle, sizeof wanted);
  const std::string path = "/proc/" + std::to_string(wanted.process) + "/fd/" + std::to_string(wanted.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  *base = file < 0 ? nullptr : mapFile(file, wanted.bytes);
  close(file);
  if (!*base)
    return cudaErrorMapBufferObjectFailed;
  fake->mapped[*base] = wanted.bytes;
  return fake->enter("ipcOpen", std::to_string(wanted.bytes));
}
static cudaError_t ipcCloseMemHandle(void *base) {
  if (auto found = fake->mapped.find(base); found != fake->mapped.end()) {
    munmap(base, found->second);
    fake->mapped.erase(found);
  }
  return fake->enter("ipcClose", "");
}
static cudaError_t hostAlloc(void **base, size_t bytes, unsigned) {
  if (cudaError_t error = fake->checkState("cudaHostAlloc", /*waits=*/false, /*captures=*/false))
    return error;
  if (cudaError_t error = fake->enter("hostAlloc", format("%zu", bytes)))
    return fake->last = error;
  *base = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  fake->shared[static_cast<char *>(*base)] = bytes;
  fake->locked.insert(*base);
  return cudaSuccess;
}
static cudaError_t freeHost(void *base) {
  if (cudaError_t error = fake->checkState("cudaFreeHost", /*waits=*/true, /*captures=*/false))
    return error;
  fake->shared.erase(static_cast<char *>(base));
  fake->locked.erase(base);
  std::free(base);
  return fake->enter("freeHost", "");
}
static cudaError_t hostRegister(void *memory, size_t bytes, unsigned) {
  fake->shared[static_cast<char *>(memory)] = bytes;
  return fake->enter("register", format("%zu", bytes));
}
static cudaError_t hostUnregister(void *memory) {
  fake->shared.erase(static_cast<char *>(memory));
  return fake->enter("unregister", "");
}
static cudaError_t hostGetDevicePointer(void **there, void *memory, unsigned) {
  *there = memory;
  return fake->enter("getDevicePointer", "");
}

static cudaError_t memsetAsync(void *to, int value, size_t bytes, cudaStream_t) {
  fake->onStream([=] { std::memset(to, value, bytes); });
  return fake->enter("memset", format("%zu", bytes));
}

static cudaError_t streamCreateWithFlags(cudaStream_t *stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(fake);
  return fake->enter("streamCreate", "");
}
static cudaError_t streamDestroy(cudaStream_t) { return fake->enter("streamDestroy", ""); }
static cudaError_t streamSynchronize(cudaStream_t) {
  if (cudaError_t error = fake->checkState("cudaStreamSynchronize", /*waits=*/true, /*captures=*/false))
    return error;
  return fake->enter("synchronize", "");
}
static cudaError_t streamQuery(cudaStream_t) {
  if (cudaError_t error = fake->checkState("cudaStreamQuery", /*waits=*/false, /*captures=*/false))
    return error;
  if (fake->hangs || (fake->delay && fake->delay--))
    return fake->last = cudaErrorNotReady;
  return fake->enter("query", "");
}

static cudaError_t eventCreate(cudaEvent_t *event) {
  *event = reinterpret_cast<cudaEvent_t>(static_cast<intptr_t>(++fake->events));
  return fake->enter("eventCreate", "");
}
static cudaError_t eventDestroy(cudaEvent_t) { return fake->enter("eventDestroy", ""); }
static cudaError_t eventQuery(cudaEvent_t event) {
  if (cudaError_t error = fake->checkState("cudaEventQuery", /*waits=*/false, /*captures=*/false))
    return error;
  return fake->late.count(event) ? fake->last = cudaErrorNotReady : fake->enter("query", "");
}
static cudaError_t eventRecord(cudaEvent_t event, cudaStream_t) {
  if (fake->hangs)
    fake->late.insert(event);
  return fake->enter("eventRecord", format("%d", static_cast<int>(reinterpret_cast<intptr_t>(event))));
}
/// Event e is e milliseconds after the beginning of time.
static cudaError_t eventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = static_cast<float>(reinterpret_cast<intptr_t>(end) - reinterpret_cast<intptr_t>(begin));
  return fake->enter("getElapsedTime", "");
}

static cudaError_t libraryLoadData(cudaLibrary_t *library, const void *code, cudaJitOption *, void **, unsigned,
                                   cudaLibraryOption *, void **, unsigned) {
  *library = static_cast<cudaLibrary_t>(const_cast<void *>(code));
  return fake->enter("load", static_cast<const char *>(code));
}
static cudaError_t libraryUnload(cudaLibrary_t library) {
  return fake->enter("unload", reinterpret_cast<const char *>(library));
}
static cudaError_t libraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name) {
  *kernel = reinterpret_cast<cudaKernel_t>(library);
  fake->functions[*kernel] = name;
  return fake->enter("getKernel", name);
}
static cudaError_t funcSetAttribute(const void *function, cudaFuncAttribute attribute, int value) {
  return fake->enter("setAttribute", format("%s %d %d", fake->functions.at(function).c_str(), attribute, value));
}

static cudaError_t launchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) {
  std::string name = fake->functions.at(function);
  cudaError_t error =
      fake->enter("launch", format("%s grid=%u block=%u shared=%zu%s", name.c_str(), config->gridDim.x,
                                   config->blockDim.x, config->dynamicSmemBytes,
                                   config->stream == reinterpret_cast<cudaStream_t>(fake) ? "" : " on another stream"));
  if (error != cudaSuccess)
    return error;
  if (fake->capturing) {
    fake->graph.push_back({name, {}, nullptr});
    for (int slot = 0; slot < fake->slots[name]; ++slot)
      fake->graph.back().values.push_back(*static_cast<uint64_t *>(arguments[slot]));
    return cudaSuccess;
  }
  fake->hangs |= name == fake->hanging;
  if (!fake->hangs && fake->execute)
    fake->execute(name, arguments);
  return cudaSuccess;
}

static CUresult encodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *base,
                            const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                            const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                            CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  bool plain = rank == 2 && steps[0] == 1 && steps[1] == 1 && interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
               promotion == CU_TENSOR_MAP_L2_PROMOTION_L2_256B && fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE &&
               reinterpret_cast<uintptr_t>(map) % 64 == 0;
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &base, sizeof base); // what a test looks at
  fake->enter("encode", format("%s type=%d %llux%llu stride=%llu box=%ux%u swizzle=%d", plain ? "plain" : "odd", type,
                               static_cast<unsigned long long>(sizes[1]), static_cast<unsigned long long>(sizes[0]),
                               static_cast<unsigned long long>(strides[0]), box[1], box[0], swizzle));
  return sizes[1] > 0 && box[0] <= 256 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static cudaError_t getDriverEntryPoint(const char *name, void **function, unsigned version, unsigned long long,
                                       cudaDriverEntryPointQueryResult *found) {
  *function = fake->encodesMaps ? reinterpret_cast<void *>(encodeTiled) : nullptr;
  *found = fake->encodesMaps ? cudaDriverEntryPointSuccess : cudaDriverEntryPointVersionNotSufficent;
  return fake->enter("getEntryPoint", format("%s %u", name, version));
}

FakeCuda::FakeCuda()
    : table{driverGetVersion,
            getDeviceCount,
            setDevice,
            getDeviceProperties,
            getLastError,
            getErrorName,
            getErrorString,
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
            streamDestroy,
            streamSynchronize,
            streamQuery,
            eventCreate,
            eventDestroy,
            eventRecord,
            eventQuery,
            eventElapsedTime,
            libraryLoadData,
            libraryUnload,
            libraryGetKernel,
            funcSetAttribute,
            launchKernelExC,
            getDriverEntryPoint} {
  fake = this;
}

FakeCuda::~FakeCuda() {
  for (auto &[base, block] : blocks)
    freeBlock(base, block);
  for (void *base : locked)
    std::free(base);
  fake = nullptr;
}
