//===- CudaDevice.cpp - an NVIDIA GPU as the device of a session --------------------------------------------------===//

#include "cuda/CudaDevice.h"

#include "cuda/Errors.h"

#include <algorithm>

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
  (void)api.streamSynchronize(stream);
  for (cudaEvent_t event : events)
    (void)api.eventDestroy(event);
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
  if (Status s = chooseGpu(api, code->arch, selection.ordinal, facts); s.failed())
    return s;
  program = selection.program;
  ordinal = selection.ordinal;
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
  timedLaunches = 0;
  // The caller may have changed its thread, or the thread its GPU.
  return check(api.setDevice(ordinal), "selecting it");
}

Status CudaDevice::reserve(DeviceBlock &block, uint64_t bytes, const char *what) {
  if (block.base && bytes <= block.size)
    return {};
  if (block.base) {
    allocations.erase(std::find(allocations.begin(), allocations.end(), block.base));
    reserved -= block.size;
    void *old = block.base;
    block = {};
    // Waits for the kernels that still use it.
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
  return bytes ? check(api.memcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "copying to it") : Status{};
}

Status CudaDevice::download(void *to, const void *from, uint64_t bytes) {
  return bytes ? check(api.memcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "copying from it") : Status{};
}

Status CudaDevice::zero(void *to, uint64_t bytes) {
  return bytes ? check(api.memsetAsync(to, 0, bytes, stream), "zeroing memory") : Status{};
}

Status CudaDevice::finish() { return check(api.streamSynchronize(stream), "running the kernels"); }

Status openCudaDevice(const CudaApi &api, const Selection &selection, const DeviceOptions &options,
                      std::unique_ptr<Device> &device) {
  auto *opened = new CudaDevice(api);
  device.reset(opened);
  return opened->open(selection, options);
}

} // namespace moert
