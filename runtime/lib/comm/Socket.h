//===- Socket.h - connections whose every operation has a deadline ------------------------------------------------===//
#ifndef MOERT_LIB_COMM_SOCKET_H
#define MOERT_LIB_COMM_SOCKET_H

#include "comm/Deadline.h"
#include "core/Status.h"

#include <cstddef>
#include <string>

namespace moert {

/// A file descriptor that is closed with its owner.
class Socket {
public:
  Socket() = default;
  explicit Socket(int fd) : fd(fd) {}
  Socket(Socket &&other) noexcept : fd(other.fd) { other.fd = -1; }
  Socket &operator=(Socket &&other) noexcept;
  ~Socket() { close(); }

  bool isOpen() const { return fd >= 0; }
  int descriptor() const { return fd; }
  void close();

  /// Transfers all bytes, or fails: "closed the connection", "did not answer in time", or the system's words.
  Status send(const void *data, size_t bytes, Deadline deadline) const;
  Status receive(void *data, size_t bytes, Deadline deadline) const;
  /// What has come already, at most `bytes` bytes; 0 at the end, or if nothing has.
  size_t receiveSome(void *data, size_t bytes) const;

private:
  Status transfer(char *data, size_t bytes, Deadline deadline, bool sends) const;

  int fd = -1;
};

/// Listens at `port` (0: any that is free, which is written back) of `host`: only at that address.
Status listenAt(const std::string &host, int &port, Socket &socket);
/// Whether a descriptor is that of a socket that listens.
bool isListening(int descriptor);
/// A connection that waits to be accepted; closed if whoever came has gone, or, as errno says, without a descriptor.
Socket acceptFrom(const Socket &listening);
/// Connects, and tries again until the deadline where nobody listens yet.
Status connectTo(const std::string &host, int port, Deadline deadline, Socket &connection);

} // namespace moert

#endif // MOERT_LIB_COMM_SOCKET_H
