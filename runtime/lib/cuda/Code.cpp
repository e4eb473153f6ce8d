//===- Code.cpp - a program's machine code ------------------------------------------------------------------------===//

#include "cuda/CudaDevice.h"

#include "core/Program.h"

#include <algorithm>

namespace moert {

constexpr int kMaxThreads = 1024;

Status CudaDevice::checkKernel(const moert_cuda_kernel &kernel) const {
  const char *text = nullptr;
  if (kernel.image < 0 || kernel.image >= program->cuda->image_count)
    text = "has no image";
  else if (kernel.threads < 1 || kernel.threads > kMaxThreads || kernel.blocks_per_sm < 1 || kernel.shared_bytes < 0)
    text = "has an invalid size";
  else if (kernel.slot_count < 0 || kernel.map_count < 0 || (kernel.map_count && !kernel.maps))
    text = "has invalid arguments";
  for (int32_t m = 0; !text && m < kernel.map_count; ++m) {
    const moert_cuda_map &map = kernel.maps[m];
    if (map.slot < 0 || map.slot >= kernel.slot_count || map.rows < -static_cast<int64_t>(kernel.slot_count) ||
        dtypeSize(map.dtype) == 0)
      text = "has an invalid map";
  }
  if (text)
    return failure(kInternal, "the compiled program '%s' is invalid: a kernel %s", program->name, text);
  if (kernel.shared_bytes > facts.sharedBytes)
    return failure(kInternal, "kernel '%s' needs %d bytes of shared memory, a block on %s has %lld",
                   program->cuda->images[kernel.image].name, kernel.shared_bytes, name(),
                   static_cast<long long>(facts.sharedBytes));
  return {};
}

Status CudaDevice::loadImage(const moert_cuda_image &image) {
  std::string what = format("loading kernel '%s'", image.name);
  cudaLibrary_t library;
  if (Status s =
          check(api.libraryLoadData(&library, image.cubin, nullptr, nullptr, 0, nullptr, nullptr, 0), what.c_str());
      s.failed())
    return s;
  libraries.push_back(library);
  functions.emplace_back();
  return check(api.libraryGetKernel(&functions.back(), library, image.name), what.c_str());
}

Status CudaDevice::loadCode() {
  const moert_cuda_code &code = *program->cuda;
  for (int32_t i = 0; i < code.image_count; ++i)
    if (Status s = loadImage(code.images[i]); s.failed())
      return s;
  size_t argumentCount = 0, mapCount = 0;
  std::vector<int32_t> shared(functions.size(), 0);
  for (int32_t k = 0; k < program->kernel_count; ++k) {
    const moert_cuda_kernel &kernel = code.kernels[k];
    if (Status s = checkKernel(kernel); s.failed())
      return s;
    argumentCount = std::max(argumentCount, static_cast<size_t>(kernel.slot_count + kernel.map_count));
    mapCount = std::max(mapCount, static_cast<size_t>(kernel.map_count));
    shared[kernel.image] = std::max(shared[kernel.image], kernel.shared_bytes);
  }
  // Kernels of ranks are loaded now: to load one while another waits for it may be to wait for ever.
  for (size_t i = 0; i < functions.size(); ++i)
    if (shared[i] || areRanks)
      if (Status s = check(api.funcSetAttribute(functions[i], cudaFuncAttributeMaxDynamicSharedMemorySize, shared[i]),
                           format("preparing kernel '%s'", code.images[i].name).c_str());
          s.failed())
        return s;
  arguments.resize(argumentCount);
  maps.resize(mapCount);
  if (mapCount == 0)
    return {};
  // A function of the driver, to which nothing is linked: the runtime finds it.
  void *function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  if (Status s =
          check(api.getDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
                "finding cuTensorMapEncodeTiled");
      s.failed())
    return s;
  if (found != cudaDriverEntryPointSuccess || !function)
    return failure(kUserError, "the NVIDIA driver is too old: it has no cuTensorMapEncodeTiled");
  encodeTiled = reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  return {};
}

} // namespace moert
