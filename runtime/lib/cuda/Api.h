//===- Api.h - the functions of CUDA that the runtime calls -------------------------------------------------------===//
//
// All calls of CUDA go through this table, so that a test can give a table of its own: one that records, that fails
// where it is told to, or that computes on the emulated GPU.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CUDA_API_H
#define MOERT_LIB_CUDA_API_H

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

namespace moert {

/// The names are those of the CUDA runtime without "cuda".
struct CudaApi {
  decltype(&::cudaDriverGetVersion) driverGetVersion;
  decltype(&::cudaGetDeviceCount) getDeviceCount;
  decltype(&::cudaSetDevice) setDevice;
  decltype(&::cudaGetDeviceProperties) getDeviceProperties;
  decltype(&::cudaGetLastError) getLastError;
  decltype(&::cudaGetErrorName) getErrorName;
  decltype(&::cudaGetErrorString) getErrorString;

  cudaError_t (*malloc)(void **, size_t);
  decltype(&::cudaFree) free;
  decltype(&::cudaMemGetInfo) memGetInfo;
  decltype(&::cudaMemcpyAsync) memcpyAsync;
  decltype(&::cudaMemsetAsync) memsetAsync;
  decltype(&::cudaIpcGetMemHandle) ipcGetMemHandle;
  decltype(&::cudaIpcOpenMemHandle) ipcOpenMemHandle;
  decltype(&::cudaIpcCloseMemHandle) ipcCloseMemHandle;
  cudaError_t (*hostAlloc)(void **, size_t, unsigned);
  decltype(&::cudaFreeHost) freeHost;
  decltype(&::cudaHostRegister) hostRegister;
  decltype(&::cudaHostUnregister) hostUnregister;
  cudaError_t (*hostGetDevicePointer)(void **, void *, unsigned);

  decltype(&::cudaStreamCreateWithFlags) streamCreateWithFlags;
  decltype(&::cudaStreamDestroy) streamDestroy;
  decltype(&::cudaStreamSynchronize) streamSynchronize;
  decltype(&::cudaStreamQuery) streamQuery;
  cudaError_t (*eventCreate)(cudaEvent_t *);
  decltype(&::cudaEventDestroy) eventDestroy;
  cudaError_t (*eventRecord)(cudaEvent_t, cudaStream_t);
  decltype(&::cudaEventQuery) eventQuery;
  cudaError_t (*eventElapsedTime)(float *, cudaEvent_t, cudaEvent_t);

  decltype(&::cudaLibraryLoadData) libraryLoadData;
  decltype(&::cudaLibraryUnload) libraryUnload;
  decltype(&::cudaLibraryGetKernel) libraryGetKernel;
  cudaError_t (*funcSetAttribute)(const void *, cudaFuncAttribute, int);
  cudaError_t (*launchKernelExC)(const cudaLaunchConfig_t *, const void *, void **);
  cudaError_t (*getDriverEntryPointByVersion)(const char *, void **, unsigned, unsigned long long,
                                              cudaDriverEntryPointQueryResult *);
};

/// The table of what is linked into this file.
const CudaApi &cudaApi();

} // namespace moert

#endif // MOERT_LIB_CUDA_API_H
