//===- Errors.h - what a CUDA error means for the user ------------------------------------------------------------===//
#ifndef MOERT_LIB_CUDA_ERRORS_H
#define MOERT_LIB_CUDA_ERRORS_H

#include "core/Status.h"
#include "cuda/Api.h"

namespace moert {

/// The failure for an error of a call: "DEVICE: WHAT: meaning, advice (name of the error)".
Status cudaFailure(const CudaApi &api, cudaError_t error, const char *device, const char *what);

/// Whether CUDA refuses all further work in this process after the error.
bool losesDevice(cudaError_t error);

} // namespace moert

#endif // MOERT_LIB_CUDA_ERRORS_H
