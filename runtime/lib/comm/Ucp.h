//===- Ucp.h - the functions of libucp.so.0 that are used ---------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_UCP_H
#define MOERT_LIB_COMM_UCP_H

#include "core/Status.h"

#include <ucp/api/ucp.h>

namespace moert {

/// Opened at run time: MOE_UCP names the library, else the linker's path has libucp.so.0. It stays open.
struct Ucp {
#define MOERT_UCP_FUNCTIONS(X)                                                                                         \
  X(get_version)                                                                                                       \
  X(config_read)                                                                                                       \
  X(config_modify)                                                                                                     \
  X(config_release)                                                                                                    \
  X(init_version)                                                                                                      \
  X(cleanup)                                                                                                           \
  X(worker_create)                                                                                                     \
  X(worker_destroy)                                                                                                    \
  X(worker_get_address)                                                                                                \
  X(worker_release_address)                                                                                            \
  X(worker_progress)                                                                                                   \
  X(worker_get_efd)                                                                                                    \
  X(worker_arm)                                                                                                        \
  X(worker_set_am_recv_handler)                                                                                        \
  X(worker_flush_nbx)                                                                                                  \
  X(ep_create)                                                                                                         \
  X(ep_close_nbx)                                                                                                      \
  X(am_send_nbx)                                                                                                       \
  X(request_check_status)                                                                                              \
  X(request_free)
#define MOERT_UCP_MEMBER(name) decltype(&ucp_##name) name = nullptr;
  MOERT_UCP_FUNCTIONS(MOERT_UCP_MEMBER)
#undef MOERT_UCP_MEMBER
  unsigned major = 0, minor = 0;

  Status open();
  const char *text(ucs_status_t status) const { return statusText ? statusText(status) : "no reason"; }

private:
  decltype(&ucs_status_string) statusText = nullptr;
};

} // namespace moert

#endif // MOERT_LIB_COMM_UCP_H
