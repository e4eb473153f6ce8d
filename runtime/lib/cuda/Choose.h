//===- Choose.h - the GPU that a program runs on ------------------------------------------------------------------===//
#ifndef MOERT_LIB_CUDA_CHOOSE_H
#define MOERT_LIB_CUDA_CHOOSE_H

#include "core/Status.h"
#include "cuda/Api.h"

namespace moert {

/// What the runtime asks of a GPU.
struct GpuFacts {
  std::string name; // "cuda:0 (NVIDIA H200)"
  int32_t multiprocessors = 0;
  int64_t sharedBytes = 0; // that a block may have
};

/// Checks driver, number and compute capability against code for `arch` ("sm_90a"), and makes the GPU current.
Status chooseGpu(const CudaApi &api, const char *arch, int32_t ordinal, GpuFacts &facts);

/// The GPU of a rank whose number nobody has said: they take turns.
int32_t numberOfRank(const CudaApi &api, int rank);

/// Whether a GPU of that compute capability runs code for `arch`: sm_90a that of 9.0 only, sm_80 that of 8.x.
bool runsOn(const char *arch, int32_t major, int32_t minor);

} // namespace moert

#endif // MOERT_LIB_CUDA_CHOOSE_H
