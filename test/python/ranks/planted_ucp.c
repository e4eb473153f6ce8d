// libucp with a fault: the rest is the library's own, which this one is linked to. MOE_PLANT says which fault there is.
//
// Once PLANT_AT messages have come:
//
//   error    the error handler of an endpoint is called
//   send     nothing can be sent any more
//   silence  nothing makes progress any more
//   twice    a message comes twice
//
// From the beginning:
//
//   reach    no other host can be reached
//   keep     the first message comes, and it is never said that it was sent

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum { PLANT_AT = 300 };

static ucp_err_handler_t handler;
static ucp_ep_h endpoint;
static ucp_am_recv_callback_t receive;
static int messages, isOver;

static void *real(const char *name) { return dlsym(dlopen("libucp.so.0", RTLD_NOW), name); }

static int isWanted(const char *fault) {
  const char *wanted = getenv("MOE_PLANT");
  return wanted && strcmp(wanted, fault) == 0;
}

static int isPlanted(const char *fault) { return messages >= PLANT_AT && isWanted(fault); }

ucs_status_t ucp_ep_create(ucp_worker_h worker, const ucp_ep_params_t *parameters, ucp_ep_h *made) {
  if (isWanted("reach"))
    return UCS_ERR_UNREACHABLE;
  ucs_status_t (*create)(ucp_worker_h, const ucp_ep_params_t *, ucp_ep_h *) = real("ucp_ep_create");
  ucs_status_t status = create(worker, parameters, made);
  handler = parameters->err_handler;
  endpoint = *made;
  return status;
}

static ucs_status_t came(void *argument, const void *header, size_t headerBytes, void *data, size_t bytes,
                         const ucp_am_recv_param_t *how) {
  ++messages;
  if (isPlanted("twice") && !isOver) {
    isOver = 1;
    receive(argument, header, headerBytes, data, bytes, how);
  }
  return receive(argument, header, headerBytes, data, bytes, how);
}

ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h worker, const ucp_am_handler_param_t *parameters) {
  ucs_status_t (*set)(ucp_worker_h, const ucp_am_handler_param_t *) = real("ucp_worker_set_am_recv_handler");
  ucp_am_handler_param_t own = *parameters;
  receive = own.cb;
  own.cb = came;
  return set(worker, &own);
}

unsigned ucp_worker_progress(ucp_worker_h worker) {
  static unsigned (*progress)(ucp_worker_h);
  if (!progress)
    progress = real("ucp_worker_progress");
  if (isPlanted("silence"))
    return 0;
  if (isPlanted("error") && !isOver) {
    isOver = 1;
    handler.cb(handler.arg, endpoint, UCS_ERR_ENDPOINT_TIMEOUT);
  }
  return progress(worker);
}

static void wasKept(void *request, ucs_status_t status, void *data) { ucp_request_free(request); }

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h to, unsigned id, const void *header, size_t headerBytes, const void *data, size_t count,
                                 const ucp_request_param_t *parameters) {
  static ucs_status_ptr_t (*send)(ucp_ep_h, unsigned, const void *, size_t, const void *, size_t, const ucp_request_param_t *);
  if (!send)
    send = real("ucp_am_send_nbx");
  if (isPlanted("send"))
    return UCS_STATUS_PTR(UCS_ERR_NO_MEMORY);
  if (isWanted("keep") && !isOver) {
    static char request; // of which nobody hears again
    isOver = 1;
    ucp_request_param_t own = *parameters;
    own.cb.send = wasKept;
    return UCS_PTR_IS_ERR(send(to, id, header, headerBytes, data, count, &own)) ? UCS_STATUS_PTR(UCS_ERR_NO_MEMORY) : &request;
  }
  return send(to, id, header, headerBytes, data, count, parameters);
}
