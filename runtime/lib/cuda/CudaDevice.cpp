//===- CudaDevice.cpp - an NVIDIA GPU as the device of a session --------------------------------------------------===//

#include "cuda/CudaDevice.h"

#include "core/Trace.h"
#include "cuda/Errors.h"

namespace moert {

Status CudaDevice::check(cudaError_t error, const char *what) {
  if (error == cudaSuccess)
    return {};
  // CUDA keeps the error until it is asked; nobody else shall find it.
  (void)api.getLastError();
  Status status = cudaFailure(api, error, facts.name.c_str(), what);
  if (losesDevice(error))
    lost = failure(status.code, "%s; this process cannot use the GPU any more", status.message.c_str());
  return lost.failed() ? lost : status;
}

CudaDevice::~CudaDevice() {
  if (lost.failed() || !program || api.setDevice(ordinal) != cudaSuccess)
    return; // the driver cleans up at the end of the process
  // What still works, as a kernel that never ends, is left to the end of the process: to free its memory is to wait.
  if (!isLate)
    began = now();
  if (wait().failed())
    return;
  (void)api.streamSynchronize(stream);
  for (cudaEvent_t event : events)
    (void)api.eventDestroy(event);
  for (void *base : mapped)
    (void)api.ipcCloseMemHandle(base);
  for (const DeviceBlock &block : locked)
    (void)api.freeHost(block.base);
  for (void *base : allocations)
    (void)api.free(base);
  for (cudaLibrary_t library : libraries)
    (void)api.libraryUnload(library);
  if (ownsStream)
    (void)api.streamDestroy(stream);
}

Status CudaDevice::open(const Selection &selection, const DeviceOptions &options) {
  const moert_cuda_code *code = selection.program->cuda;
  if (!code || !code->arch || (code->image_count && !code->images) ||
      (selection.program->kernel_count && !code->kernels))
    return failure(kInternal, "the compiled program '%s' is invalid: it has no CUDA code", selection.program->name);
  ordinal = selection.ordinal;
  if (options.rank > 0 && options.sharers == 1 && !selection.isNumbered)
    ordinal = numberOfRank(api, options.rank);
  if (Status s = chooseGpu(api, code->arch, ordinal, facts); s.failed())
    return s;
  program = selection.program;
  sharers = options.sharers;
  areRanks = options.rank >= 0;
  deadline = options.deadline;
  namesLate = options.namesLate;
  began = now();
  stream = static_cast<cudaStream_t>(options.stream);
  if (!stream) {
    if (Status s = check(api.streamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream"); s.failed())
      return s;
    ownsStream = true;
  }
  return loadCode();
}

Status CudaDevice::begin() {
  if (lost.failed())
    return lost;
  // The caller may have changed its thread, or the thread its GPU.
  if (Status s = check(api.setDevice(ordinal), "selecting it"); s.failed())
    return s;
  if (isLate)
    if (Status s = wait(); s.failed())
      return s;
  isLate = false;
  launched.clear();
  began = now();
  return {};
}

Status CudaDevice::reserve(DeviceBlock &block, uint64_t bytes, const char *what) {
  if (block.base && bytes <= block.size)
    return {};
  if (block.base) {
    // It may be in use, and then CUDA waits, too, but for ever.
    if (Status s = wait("giving memory back"); s.failed())
      return s;
    allocations.erase(std::find(allocations.begin(), allocations.end(), block.base));
    reserved -= block.size;
    void *old = block.base;
    block = {};
    if (Status s = check(api.free(old), "giving memory back"); s.failed())
      return s;
  }
  void *base = nullptr;
  uint64_t size = std::max<uint64_t>(bytes, 1);
  cudaError_t error = api.malloc(&base, size);
  if (error == cudaErrorMemoryAllocation) {
    (void)api.getLastError();
    size_t left = 0, total = 0;
    (void)api.memGetInfo(&left, &total);
    return failure(kUserError, "out of memory on %s: %s needs %llu bytes, %llu of %llu are free", name(), what,
                   static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(left),
                   static_cast<unsigned long long>(total));
  }
  if (Status s = check(error, "reserving memory"); s.failed())
    return s;
  block = {base, size};
  allocations.push_back(base);
  reserved += size;
  return {};
}

Status CudaDevice::upload(void *to, const void *from, uint64_t bytes) {
  return copyByHost(to, from, bytes, cudaMemcpyHostToDevice, "copying to it");
}

Status CudaDevice::download(void *to, const void *from, uint64_t bytes) {
  return copyByHost(to, from, bytes, cudaMemcpyDeviceToHost, "copying from it");
}

Status CudaDevice::copy(void *to, const void *from, uint64_t bytes) {
  if (!bytes)
    return {};
  return check(api.memcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "copying in its memory");
}

Status CudaDevice::copyByHost(void *to, const void *from, uint64_t bytes, cudaMemcpyKind kind, const char *what) {
  if (!bytes)
    return {};
  // Between the GPU and pageable memory of the host CUDA copies in a blocking way, after everything before.
  auto holds = [&](const DeviceBlock &block) { return block.base == to; };
  if (std::none_of(locked.begin(), locked.end(), holds))
    if (Status s = wait(what); s.failed())
      return s;
  return check(api.memcpyAsync(to, from, bytes, kind, stream), what);
}

Status CudaDevice::zero(void *to, uint64_t bytes) {
  return bytes ? check(api.memsetAsync(to, 0, bytes, stream), "zeroing memory") : Status{};
}

Status CudaDevice::finish() {
  if (Status s = wait(); s.failed())
    return s;
  return check(api.streamSynchronize(stream), kRunning);
}

Status openCudaDevice(const CudaApi &api, const Selection &selection, const DeviceOptions &options,
                      std::unique_ptr<Device> &device) {
  auto *opened = new CudaDevice(api);
  device.reset(opened);
  return opened->open(selection, options);
}

} // namespace moert
