//===- SteadyStateTest.cpp - repeated calls on a GPU allocate nothing ---------------------------------------------===//
//
// Neither on the GPU nor here: what goes through operator new and through the table's allocations is counted while a
// session repeats a call, with other numbers of rows, on copies and on values of the GPU.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "TwoKernels.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

static long allocations = 0;

void *operator new(std::size_t size) {
  ++allocations;
  return std::malloc(size);
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }

using namespace moert;

namespace {

CUresult encodeNothing(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                       const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                       CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_SUCCESS;
}

/// The fake notes its calls, which allocates: those of a repeated call are replaced by ones that do not.
void makeQuiet(CudaApi &table) {
  table.setDevice = [](int) { return cudaSuccess; };
  table.memcpyAsync = [](void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  };
  table.streamQuery = [](cudaStream_t) { return cudaSuccess; };
  table.streamSynchronize = [](cudaStream_t) { return cudaSuccess; };
  table.launchKernelExC = [](const cudaLaunchConfig_t *, const void *, void **) { return cudaSuccess; };
  table.getDriverEntryPointByVersion = [](const char *, void **function, unsigned, unsigned long long,
                                          cudaDriverEntryPointQueryResult *found) {
    *function = reinterpret_cast<void *>(encodeNothing);
    *found = cudaDriverEntryPointSuccess;
    return cudaSuccess;
  };
}

bool check(int32_t deviceValues) {
  FakeCuda cuda;
  makeQuiet(cuda.table);
  TwoKernels kernels;
  moert_session_options options = {};
  options.device_values = deviceValues;
  TestSession session(kernels, options);
  if (session.code)
    std::fprintf(stderr, "%s\n", session.error().c_str());
  long before = 0;
  for (int call = 0; call < 1000 && !session.code; ++call) {
    if (call == 2)
      before = allocations;
    int64_t sizes[2] = {call < 2 ? 64 : call % 32 * 2, 4}; // never 13, which the program does not like
    session.code = moert_session_set_input(session.session, 0, MOERT_F32, 2, sizes, session.x);
    if (!session.code)
      session.code = moert_session_run(session.session);
  }
  long made = allocations - before;
  if (made)
    std::fprintf(stderr, "%ld allocations in 998 calls\n", made);
  return !session.code && before && !made;
}

} // namespace

int main() { return check(0) && check(1) ? 0 : 1; }
