//===- Ucp.cpp - the functions of libucp.so.0 that are used -------------------------------------------------------===//

#include "comm/Ucp.h"

#include <cstdlib>
#include <dlfcn.h>

namespace moert {

/// Functions as they are called here exist since.
static constexpr unsigned kMajor = 1, kFirstMinor = 12;

/// UCX writes to the standard error, catches signals and patches the functions that map memory, all of which is the
/// program's own business. Who has set a variable is left alone.
static void calm() {
  setenv("UCX_LOG_LEVEL", "fatal", 0);
  setenv("UCX_HANDLE_ERRORS", "none", 0);
  setenv("UCX_DEBUG_SIGNO", "0", 0); // else SIGHUP ends nothing, and it writes what it does
  setenv("UCX_MEM_EVENTS", "no", 0);
  setenv("UCX_WARN_UNUSED_ENV_VARS", "no", 0);
}

Status Ucp::open() {
  calm();
  const char *named = std::getenv("MOE_UCP");
  const char *path = named && *named ? named : "libucp.so.0";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    return failure(kUserError, "ranks on several hosts need UCX: %s; install libucx0, or name libucp.so.0 in MOE_UCP",
                   why ? why : path);
  }
  const char *missing = nullptr;
#define MOERT_UCP_FIND(name)                                                                                           \
  name = reinterpret_cast<decltype(name)>(dlsym(library, "ucp_" #name));                                               \
  missing = name || missing ? missing : "ucp_" #name;
  MOERT_UCP_FUNCTIONS(MOERT_UCP_FIND)
#undef MOERT_UCP_FIND
  if (missing)
    return failure(kUserError, "%s is no libucp of UCX %u.%u or newer: it has no %s", path, kMajor, kFirstMinor,
                   missing);
  statusText = reinterpret_cast<decltype(statusText)>(dlsym(library, "ucs_status_string"));
  unsigned release = 0;
  get_version(&major, &minor, &release);
  if (major != kMajor || minor < kFirstMinor)
    return failure(kUserError, "%s is UCX %u.%u; %u.%u or a newer %u is needed", path, major, minor, kMajor,
                   kFirstMinor, kMajor);
  return {};
}

} // namespace moert
