//===- StaticRuntime.cpp - the table of libcudart_static.a --------------------------------------------------------===//

#include "cuda/Api.h"

namespace moert {

const CudaApi &cudaApi() {
  static constexpr CudaApi api = {
      ::cudaDriverGetVersion,
      ::cudaGetDeviceCount,
      ::cudaSetDevice,
      ::cudaGetDeviceProperties,
      ::cudaGetLastError,
      ::cudaGetErrorName,
      ::cudaGetErrorString,
      ::cudaMalloc,
      ::cudaFree,
      ::cudaMemGetInfo,
      ::cudaMemcpyAsync,
      ::cudaMemsetAsync,
      ::cudaIpcGetMemHandle,
      ::cudaIpcOpenMemHandle,
      ::cudaIpcCloseMemHandle,
      ::cudaHostAlloc,
      ::cudaFreeHost,
      ::cudaHostRegister,
      ::cudaHostUnregister,
      ::cudaHostGetDevicePointer,
      ::cudaStreamCreateWithFlags,
      ::cudaStreamDestroy,
      ::cudaStreamSynchronize,
      ::cudaStreamQuery,
      ::cudaEventCreate,
      ::cudaEventDestroy,
      ::cudaEventRecord,
      ::cudaEventQuery,
      ::cudaEventElapsedTime,
      ::cudaLibraryLoadData,
      ::cudaLibraryUnload,
      ::cudaLibraryGetKernel,
      ::cudaFuncSetAttribute,
      ::cudaLaunchKernelExC,
      ::cudaGetDriverEntryPointByVersion,
  };
  return api;
}

} // namespace moert
