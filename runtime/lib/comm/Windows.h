//===- Windows.h - memory of each rank that the others store to ---------------------------------------------------===//
//
// For ranks on one host, as processes or as threads (Shm): memory without a name in any file system (memfd), which the
// others open through /proc. So nothing stays behind, however a rank ends, and nobody but the owner's user can open it.
// Its size is sealed: no rank can make another one's stores fail by cutting it off. For ranks that are all threads of
// one process (Local): its memory.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_WINDOWS_H
#define MOERT_LIB_COMM_WINDOWS_H

#include "comm/Group.h"
#include "comm/Socket.h"

#include <vector>

namespace moert {

/// Where windows come from.
enum class Provider { Shm, Local };

class Windows {
public:
  explicit Windows(Provider provider = Provider::Shm) : provider(provider) {}
  Windows(const Windows &) = delete;
  Windows &operator=(const Windows &) = delete;
  ~Windows() { close(); }

  /// Gives each rank a window of `bytes` zero bytes (the same for all). All ranks call it; it fails on all or on none.
  Status open(Group &ranks, size_t bytes);
  void close();
  void setProvider(Provider other) { provider = other; }

  /// Each rank's window, at this process's addresses.
  char *const *bases() const { return parts.data(); }
  size_t bytes() const { return size; }

private:
  struct Offer;
  /// Makes this rank's window, and maps it.
  Status make(int own, size_t bytes, Socket &memory, Offer &offer);
  /// Maps what another rank offers.
  Status take(int rank, size_t bytes, const Offer &offer);
  Status exchange(Group &ranks, size_t bytes);

  Provider provider;
  std::vector<char *> parts;
  size_t size = 0;
};

} // namespace moert

#endif // MOERT_LIB_COMM_WINDOWS_H
