//===- Windows.h - memory of each rank that the others store to ---------------------------------------------------===//
//
// For ranks on one host, as processes or as threads: memory without a name in any file system (memfd), which the others
// open through /proc. So nothing stays behind, however a rank ends, and nobody but the owner's user can open it. Its
// size is sealed: no rank can make another one's stores fail by cutting it off.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_WINDOWS_H
#define MOERT_LIB_COMM_WINDOWS_H

#include "comm/Group.h"
#include "comm/Socket.h"

#include <vector>

namespace moert {

class Windows {
public:
  Windows() = default;
  Windows(const Windows &) = delete;
  Windows &operator=(const Windows &) = delete;
  ~Windows() { close(); }

  /// Gives each rank a window of `bytes` zero bytes (the same for all). All ranks call it; it fails on all or on none.
  Status open(Group &ranks, size_t bytes);
  void close();

  /// Each rank's window, at this process's addresses.
  char *const *bases() const { return parts.data(); }
  size_t bytes() const { return size; }

private:
  Status make(size_t bytes, Socket &memory);
  Status map(int rank, int fd, size_t bytes, uint64_t file);

  std::vector<char *> parts;
  size_t size = 0;
};

} // namespace moert

#endif // MOERT_LIB_COMM_WINDOWS_H
