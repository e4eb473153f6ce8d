// A connection that ends while a long message is sent, to be loaded in front of the C library (LD_PRELOAD). MOE_PLANT=reset plants it.
//
// Of the PLANT_AT-th long message on a socket, sent by send or sendmsg, half is taken, and then the connection is gone.
// So it is between two parts that UCX hears of it, from a function that sends: by chance that is rare.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PLANT_AT = 20, LONG = 20000, PARTS = 16 };

static int messages, isCut, cut;

static ssize_t refuse(void) {
  shutdown(cut, SHUT_RDWR); // the other side hears of it, too
  errno = ECONNRESET;
  return -1;
}

/// Whether half of this message is to be sent.
static int isLast(int socket, size_t bytes) {
  const char *wanted = getenv("MOE_PLANT");
  if (!wanted || strcmp(wanted, "reset") || isCut || bytes < LONG || ++messages < PLANT_AT)
    return 0;
  cut = socket;
  return isCut = 1;
}

ssize_t send(int socket, const void *data, size_t bytes, int flags) {
  static ssize_t (*next)(int, const void *, size_t, int);
  if (!next)
    next = dlsym(RTLD_NEXT, "send");
  if (isCut && socket == cut)
    return refuse();
  return next(socket, data, isLast(socket, bytes) ? bytes / 2 : bytes, flags);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
  static ssize_t (*next)(int, const struct msghdr *, int);
  if (!next)
    next = dlsym(RTLD_NEXT, "sendmsg");
  if (isCut && socket == cut)
    return refuse();
  size_t bytes = 0;
  for (size_t i = 0; i < message->msg_iovlen; ++i)
    bytes += message->msg_iov[i].iov_len;
  if (message->msg_iovlen > PARTS || !isLast(socket, bytes))
    return next(socket, message, flags);
  struct iovec parts[PARTS];
  struct msghdr half = *message;
  half.msg_iov = parts;
  half.msg_iovlen = 0;
  for (size_t left = bytes / 2; left; left -= parts[half.msg_iovlen++].iov_len) {
    parts[half.msg_iovlen] = message->msg_iov[half.msg_iovlen];
    if (parts[half.msg_iovlen].iov_len > left)
      parts[half.msg_iovlen].iov_len = left;
  }
  return next(socket, &half, flags);
}
