//===- Nccl.h - the functions of NCCL that the runtime calls ------------------------------------------------------===//
//
// NCCL is opened when a job asks for it, and nothing is linked to it: what its headers say of these functions is said
// here again. Those of windows came with 2.29; an older version sums for several ranks, and that is enough.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CUDA_NCCL_H
#define MOERT_LIB_CUDA_NCCL_H

#include "core/Status.h"

#include <climits>
#include <cstddef>
#include <vector>

namespace moert {

enum NcclResult : int { kNcclSuccess = 0, kNcclInProgress = 7 };
struct NcclId {
  char internal[128];
};
/// The beginning of ncclConfig_t, as of 2.14: NCCL fills in what a version has not.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = 0;
  int clusterSize = INT_MIN; ///< unset
};
constexpr int kNcclSymmetricWindow = 1;
constexpr int kNcclUint64 = 5, kNcclSum = 0;
/// Ranks that reach each other's memory by loads and stores.
struct NcclTeam {
  int ranks, rank, stride;
};
/// 2.18: communicators that never block, in graphs too.
constexpr int kNcclLeast = 21801;
/// 2.29.2: the first one that tells a host where the windows of its peers are.
constexpr int kNcclWindows = 22902;

struct NcclApi {
  int (*getVersion)(int *version);
  const char *(*getErrorString)(int result);
  const char *(*getLastError)(void *comm);
  int (*getUniqueId)(NcclId *id);
  int (*commInitRankConfig)(void **comm, int ranks, NcclId id, int rank, NcclConfig *config);
  int (*commGetAsyncError)(void *comm, int *result);
  int (*commAbort)(void *comm);
  int (*groupStart)();
  int (*groupEnd)();
  int (*reduce)(const void *from, void *to, size_t count, int type, int operation, int root, void *comm, void *stream);
  // Of versions that have windows.
  int (*memAlloc)(void **base, size_t bytes);
  int (*memFree)(void *base);
  int (*commWindowRegister)(void *comm, void *base, size_t bytes, void **window, int flags);
  int (*commWindowDeregister)(void *comm, void *window);
  int (*getLsaDevicePointer)(void *window, size_t offset, int rank, void **there);
  NcclTeam (*teamLsa)(void *comm);
  bool hasWindows() const { return version >= kNcclWindows; }
  int version = 0;
};

/// Opens the library that is found first, once in a process, and asks for its version.
Status openNccl(const NcclApi *&api);

/// "2.29.3".
std::string ncclVersionText(int version);

/// Where the library may be: paths, and last the names by which the system's linker knows it. $MOE_NCCL, a file or a
/// folder, replaces all other places.
Status findNccl(std::vector<std::string> &libraries);

} // namespace moert

#endif // MOERT_LIB_CUDA_NCCL_H
