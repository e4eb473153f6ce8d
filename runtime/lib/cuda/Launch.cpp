//===- Launch.cpp - launches of kernels ---------------------------------------------------------------------------===//

#include "cuda/CudaDevice.h"

#include "core/Program.h"

#include <algorithm>
#include <climits>

namespace moert {

static CUtensorMapDataType mapType(int32_t dtype) {
  switch (dtype) {
  case MOERT_F32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case MOERT_BF16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case MOERT_F16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case MOERT_F64:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  case MOERT_I64:
    return CU_TENSOR_MAP_DATA_TYPE_INT64;
  case MOERT_I32:
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  case MOERT_I16:
    return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  default:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

static CUtensorMapSwizzle mapSwizzle(int32_t bytes) {
  return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                       : CU_TENSOR_MAP_SWIZZLE_NONE;
}

Status CudaDevice::encode(const moert_cuda_kernel &kernel, const char *kernelName, int32_t number,
                          const uint64_t *slots) {
  const moert_cuda_map &map = kernel.maps[number];
  int64_t rows = map.rows >= 0 ? map.rows : static_cast<int64_t>(slots[-(map.rows + 1)]);
  // The driver refuses a matrix without rows; a kernel that has none to load does not look at it.
  cuuint64_t sizes[2] = {static_cast<cuuint64_t>(map.columns), static_cast<cuuint64_t>(std::max<int64_t>(rows, 1))};
  cuuint64_t strides[1] = {static_cast<cuuint64_t>(map.columns) * dtypeSize(map.dtype)};
  cuuint32_t box[2] = {static_cast<cuuint32_t>(map.box_columns), static_cast<cuuint32_t>(map.box_rows)};
  cuuint32_t steps[2] = {1, 1};
  CUresult result = encodeTiled(&maps[number], mapType(map.dtype), 2, reinterpret_cast<void *>(slots[map.slot]), sizes,
                                strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, mapSwizzle(map.swizzle),
                                CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    return failure(
        kInternal,
        "%s: kernel '%s': the driver refuses a map of %lld x %lld %s with boxes of %d x %d and a swizzle of %d "
        "bytes (CUresult %d)",
        name(), kernelName, static_cast<long long>(rows), static_cast<long long>(map.columns), dtypeName(map.dtype),
        map.box_rows, map.box_columns, map.swizzle, static_cast<int>(result));
  return {};
}

Status CudaDevice::record(size_t number) {
  while (events.size() <= number) {
    cudaEvent_t event;
    if (Status s = check(api.eventCreate(&event), "making an event"); s.failed())
      return s;
    events.push_back(event);
  }
  return check(api.eventRecord(events[number], stream), "recording an event");
}

Status CudaDevice::start(const cudaLaunchConfig_t &config, int32_t index) {
  const moert_cuda_kernel &kernel = program->cuda->kernels[index];
  cudaError_t error = api.launchKernelExC(&config, functions[kernel.image], arguments.data());
  if (error == cudaSuccess)
    return {};
  return check(error, format("launching kernel '%s'", program->kernels[index].name).c_str());
}

Status CudaDevice::launch(int32_t index, const void *slotData, int64_t blocks, bool timed) {
  const moert_cuda_kernel &kernel = program->cuda->kernels[index];
  const auto *slots = static_cast<const uint64_t *>(slotData);
  for (int32_t s = 0; s < kernel.slot_count; ++s)
    arguments[s] = const_cast<uint64_t *>(slots + s);
  for (int32_t m = 0; m < kernel.map_count; ++m) {
    if (Status s = encode(kernel, program->kernels[index].name, m, slots); s.failed())
      return s;
    arguments[kernel.slot_count + m] = &maps[m];
  }
  int64_t grid = blocks == 1 ? 1 : blocks * kernel.blocks_per_sm;
  if (grid < 0 || grid > INT_MAX)
    return failure(kInternal, "kernel '%s' was launched with %lld blocks", program->kernels[index].name,
                   static_cast<long long>(grid));
  if (grid == 0)
    return {};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(grid));
  config.blockDim = dim3(static_cast<unsigned>(kernel.threads));
  config.dynamicSmemBytes = static_cast<size_t>(kernel.shared_bytes);
  config.stream = stream;
  const size_t number = launched.size(), end = timed ? 2 * number + 2 : number;
  if (timed && number == 0)
    if (Status s = record(0); s.failed())
      return s;
  if (timed)
    if (Status s = record(end - 1); s.failed())
      return s;
  if (Status s = start(config, index); s.failed())
    return s;
  if (!timed && !namesLate)
    return {};
  if (Status s = record(end); s.failed())
    return s;
  launched.push_back({index, end});
  return {};
}

Status CudaDevice::time(size_t number, LaunchTime &time) {
  auto since = [&](cudaEvent_t event, int64_t &nanoseconds) {
    float milliseconds = 0;
    cudaError_t error = api.eventElapsedTime(&milliseconds, events[0], event);
    nanoseconds = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    return check(error, "asking for times");
  };
  if (Status s = since(events[2 * number + 1], time.begin); s.failed())
    return s;
  return since(events[2 * number + 2], time.end);
}

} // namespace moert
