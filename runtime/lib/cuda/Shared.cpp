//===- Shared.cpp - memory that a GPU shares with the host and with other processes -------------------------------===//
//
// Ranks that are threads of one process see each other's memory as it is. Those that are processes of one host, with a
// GPU each or with one together, map it by CUDA's handles.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "cuda/CudaDevice.h"

#include <algorithm>
#include <cstring>

namespace moert {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(DeviceHandle), "a handle of CUDA is one of ours");

Status CudaDevice::share(void *memory, uint64_t bytes, void *&there) {
  if (Status s = check(api.hostRegister(memory, bytes, cudaHostRegisterMapped), "sharing memory of the host");
      s.failed())
    return s;
  return check(api.hostGetDevicePointer(&there, memory, 0), "sharing memory of the host");
}

void CudaDevice::unshare(void *memory) {
  if (!lost.failed() && !isLate) // what still works may read it
    (void)api.hostUnregister(memory);
}

Status CudaDevice::mirror(void *to, const void *from, uint64_t bytes) {
  return check(api.memcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "copying from it");
}

// Into pageable memory CUDA copies twice, the second time by the processor. Fewer bytes of an output than these are not
// worth locked pages, and more would take them from everybody else.
constexpr uint64_t kWorthLocking = uint64_t(1) << 20, kMostLocked = uint64_t(1) << 30;

Status CudaDevice::pageLocked(DeviceBlock &block, uint64_t bytes, void *&data) {
  data = nullptr;
  if (bytes < kWorthLocking || bytes > kMostLocked)
    return {};
  if (bytes > block.size && block.base) {
    // CUDA waits before it frees, and then for ever.
    if (Status s = wait("giving memory of the host back"); s.failed())
      return s;
    auto isOld = [&](const DeviceBlock &other) { return other.base == block.base; };
    locked.erase(std::find_if(locked.begin(), locked.end(), isOld));
    void *old = block.base;
    block = {};
    if (Status s = check(api.freeHost(old), "giving memory of the host back"); s.failed())
      return s;
  }
  if (!block.base) {
    void *made = nullptr;
    cudaError_t error = api.hostAlloc(&made, bytes, cudaHostAllocDefault);
    if (error == cudaErrorMemoryAllocation) {
      (void)api.getLastError(); // ordinary memory does as well
      return {};
    }
    if (Status s = check(error, "reserving memory of the host"); s.failed())
      return s;
    block = {made, bytes};
    locked.push_back(block);
  }
  data = block.base;
  return {};
}

Status CudaDevice::offer(const DeviceBlock &block, DeviceHandle &handle) {
  cudaIpcMemHandle_t made;
  Status s = check(api.ipcGetMemHandle(&made, block.base), "offering memory to other ranks");
  std::memcpy(&handle, &made, sizeof handle);
  return s;
}

Status CudaDevice::map(const DeviceHandle &handle, void *&base) {
  cudaIpcMemHandle_t wanted;
  std::memcpy(&wanted, &handle, sizeof wanted);
  Status s = check(api.ipcOpenMemHandle(&base, wanted, cudaIpcMemLazyEnablePeerAccess),
                   "mapping another rank's memory");
  if (!s.failed())
    mapped.push_back(base);
  return s;
}

Status CudaDevice::unmap(void *base) {
  mapped.erase(std::find(mapped.begin(), mapped.end(), base));
  if (lost.failed() || isLate) // what still works may store there
    return {};
  return check(api.ipcCloseMemHandle(base), "giving another rank's memory back");
}

} // namespace moert
