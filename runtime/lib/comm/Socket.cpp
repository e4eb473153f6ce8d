//===- Socket.cpp - connections whose every operation has a deadline ----------------------------------------------===//

#include "comm/Socket.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace moert {

Socket &Socket::operator=(Socket &&other) noexcept {
  if (this != &other) {
    close();
    fd = other.fd;
    other.fd = -1;
  }
  return *this;
}

void Socket::close() {
  if (fd >= 0)
    ::close(fd);
  fd = -1;
}

Status Socket::transfer(char *data, size_t bytes, Deadline deadline, bool sends) const {
  while (bytes) {
    ssize_t moved =
        sends ? ::send(fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) : ::recv(fd, data, bytes, MSG_DONTWAIT);
    if (moved > 0) {
      data += moved;
      bytes -= static_cast<size_t>(moved);
      continue;
    }
    if (moved == 0 || errno == ECONNRESET || errno == EPIPE)
      return failure(kUserError, "closed the connection");
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return failure(kUserError, "cannot be reached: %s", std::strerror(errno));
    pollfd ready{fd, static_cast<short>(sends ? POLLOUT : POLLIN), 0};
    int left = deadline.milliseconds();
    if (left == 0 || poll(&ready, 1, left) == 0)
      return failure(kUserError, "did not answer in time");
  }
  return {};
}

Status Socket::send(const void *data, size_t bytes, Deadline deadline) const {
  return transfer(const_cast<char *>(static_cast<const char *>(data)), bytes, deadline, /*sends=*/true);
}

Status Socket::receive(void *data, size_t bytes, Deadline deadline) const {
  return transfer(static_cast<char *>(data), bytes, deadline, /*sends=*/false);
}

size_t Socket::receiveSome(void *data, size_t bytes) const {
  ssize_t got = ::recv(fd, data, bytes, MSG_DONTWAIT);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

/// The addresses of a host, freed with their owner.
struct Addresses {
  addrinfo *list = nullptr;
  ~Addresses() {
    if (list)
      freeaddrinfo(list);
  }
};

static Status resolve(const std::string &host, int port, Addresses &addresses) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &addresses.list))
    return failure(kUserError, "cannot find host '%s': %s", host.c_str(), gai_strerror(code));
  return {};
}

static void sendAtOnce(int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

Status listenAt(const std::string &host, int &port, Socket &socket) {
  Addresses addresses;
  if (Status bad = resolve(host, port, addresses); bad.failed())
    return bad;
  const addrinfo &first = *addresses.list;
  Socket made(::socket(first.ai_family, first.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  int one = 1;
  if (!made.isOpen() || setsockopt(made.descriptor(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) ||
      bind(made.descriptor(), first.ai_addr, first.ai_addrlen) || listen(made.descriptor(), SOMAXCONN))
    return failure(kUserError, "cannot listen at port %d of %s: %s", port, host.c_str(), std::strerror(errno));
  sockaddr_storage bound;
  socklen_t size = sizeof bound;
  if (port == 0 && getsockname(made.descriptor(), reinterpret_cast<sockaddr *>(&bound), &size) == 0)
    port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(bound).sin6_port
                                             : reinterpret_cast<sockaddr_in &>(bound).sin_port);
  socket = std::move(made);
  return {};
}

bool isListening(int descriptor) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}

Socket acceptFrom(const Socket &listening) {
  Socket made(accept4(listening.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
  if (made.isOpen())
    sendAtOnce(made.descriptor());
  return made;
}

/// A port that nobody listens at can be given to the very socket that connects to it.
static bool isOwnEnd(int fd) {
  sockaddr_storage own{}, peer{};
  socklen_t ownSize = sizeof own, peerSize = sizeof peer;
  return getsockname(fd, reinterpret_cast<sockaddr *>(&own), &ownSize) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &peerSize) == 0 && ownSize == peerSize &&
         std::memcmp(&own, &peer, ownSize) == 0;
}

Status connectTo(const std::string &host, int port, Deadline deadline, Socket &connection) {
  Addresses addresses;
  if (Status bad = resolve(host, port, addresses); bad.failed())
    return bad;
  for (int error = ETIMEDOUT;;) {
    for (const addrinfo *address = addresses.list; address; address = address->ai_next) {
      Socket made(::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!made.isOpen())
        return failure(kUserError, "cannot open a socket: %s", std::strerror(errno));
      error = connect(made.descriptor(), address->ai_addr, address->ai_addrlen) ? errno : 0;
      if (error == EINPROGRESS) {
        pollfd ready{made.descriptor(), POLLOUT, 0};
        socklen_t size = sizeof error;
        if (poll(&ready, 1, deadline.milliseconds()) <= 0)
          error = ETIMEDOUT;
        else
          getsockopt(made.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
      }
      if (error == 0 && isOwnEnd(made.descriptor()))
        error = ECONNREFUSED;
      if (error == 0) {
        sendAtOnce(made.descriptor());
        connection = std::move(made);
        return {};
      }
    }
    if (deadline.isOver())
      return failure(kUserError, "nobody answers at port %d of %s: %s", port, host.c_str(), std::strerror(error));
    poll(nullptr, 0, 5);
  }
}

} // namespace moert
