//===- Nccl.cpp - opening NCCL ------------------------------------------------------------------------------------===//

#include "cuda/Nccl.h"

#include <dlfcn.h>
#include <pthread.h>

namespace moert {

std::string ncclVersionText(int version) {
  return format("%d.%d.%d", version / 10000, version % 10000 / 100, version % 100);
}

static Status openLibrary(void *&library, std::string &path) {
  std::vector<std::string> libraries;
  if (Status s = findNccl(libraries); s.failed())
    return s;
  std::string why;
  for (const std::string &candidate : libraries) {
    path = candidate;
    library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library)
      return {};
    if (const char *error = dlerror(); error && why.empty())
      why = error;
  }
  return failure(kUserError,
                 "NCCL is not found (%s): install the package nvidia-nccl-cu13, or name the library by MOE_NCCL",
                 why.c_str());
}

template <typename Function> static bool find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function;
}

static Status open(NcclApi &api) {
  void *library = nullptr;
  std::string path;
  if (Status s = openLibrary(library, path); s.failed())
    return s;
  if (!find(library, "ncclGetVersion", api.getVersion) || api.getVersion(&api.version) != kNcclSuccess)
    return failure(kUserError, "'%s' does not say which version of NCCL it is", path.c_str());
  if (api.version < kNcclLeast)
    return failure(kUserError, "'%s' is NCCL %s; ranks need %s or newer", path.c_str(),
                   ncclVersionText(api.version).c_str(), ncclVersionText(kNcclLeast).c_str());
  const bool hasAll = find(library, "ncclGetErrorString", api.getErrorString) &&
                      find(library, "ncclGetLastError", api.getLastError) &&
                      find(library, "ncclGetUniqueId", api.getUniqueId) &&
                      find(library, "ncclCommInitRankConfig", api.commInitRankConfig) &&
                      find(library, "ncclCommGetAsyncError", api.commGetAsyncError) &&
                      find(library, "ncclCommAbort", api.commAbort) &&
                      find(library, "ncclGroupStart", api.groupStart) &&
                      find(library, "ncclGroupEnd", api.groupEnd) && find(library, "ncclReduce", api.reduce);
  const bool hasWindows = !api.hasWindows() ||
                          (find(library, "ncclMemAlloc", api.memAlloc) && find(library, "ncclMemFree", api.memFree) &&
                           find(library, "ncclCommWindowRegister", api.commWindowRegister) &&
                           find(library, "ncclCommWindowDeregister", api.commWindowDeregister) &&
                           find(library, "ncclGetLsaDevicePointer", api.getLsaDevicePointer) &&
                           find(library, "ncclTeamLsa", api.teamLsa));
  if (!hasAll || !hasWindows)
    return failure(kUserError, "'%s' lacks a function of NCCL %s: %s", path.c_str(),
                   ncclVersionText(api.version).c_str(), dlerror());
  return {};
}

Status openNccl(const NcclApi *&api) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static NcclApi *opened = nullptr;
  pthread_mutex_lock(&lock);
  Status status;
  if (!opened) {
    auto *made = new NcclApi;
    status = open(*made);
    if (status.failed())
      delete made;
    else
      opened = made;
  }
  api = opened;
  pthread_mutex_unlock(&lock);
  return status;
}

} // namespace moert
