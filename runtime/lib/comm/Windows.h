//===- Windows.h - memory of each rank that the others store to ---------------------------------------------------===//
//
// For ranks on one host, as processes or as threads (Shm): memory without a name in any file system (memfd), which the
// others open through /proc. So nothing stays behind, however a rank ends, and nobody but the owner's user can open it.
// Its size is sealed: no rank can make another one's stores fail by cutting it off. For ranks that are all threads of
// one process (Local): its memory.
//
// A rank of another host has a mirror of its window here, to which others store as to the window itself. What stands
// there is sent when a flag is raised behind it (Link.h).
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_WINDOWS_H
#define MOERT_LIB_COMM_WINDOWS_H

#include "comm/Group.h"
#include "comm/Link.h"
#include "comm/Socket.h"
#include "moert/moert.h"

#include <vector>

namespace moert {
class Windows;
}

/// What moert_peers has of windows with ranks on other hosts.
struct moert_hosts {
  moert::Windows *windows = nullptr;
};

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
  /// Before open(), if the job has ranks on other hosts: `number` is the same for these windows on all ranks, `members`
  /// are ranks of the job. What waits to be sent when windows close may take `nanoseconds`. `mirrorsAreWritten`: others
  /// write to this rank's mirrors of theirs; of all ranks only.
  void connect(Link &to, uint32_t number, std::vector<int> members, int64_t nanoseconds, bool mirrorsAreWritten = false);

  /// Each rank's window, at this process's addresses.
  char *const *bases() const { return parts.data(); }
  size_t bytes() const { return size; }

  /// Whether a rank's part is a mirror here.
  bool isMirror(int rank) const { return !mirrored.empty() && mirrored[static_cast<size_t>(rank)]; }
  /// Null if no rank's is.
  moert_hosts *hosts() { return mirrored.empty() ? nullptr : &apart; }
  /// `bytes` bytes were stored at `to`, in that rank's part.
  void stored(int rank, const void *to, size_t bytes);
  /// Raises a flag there, behind all that was stored.
  void raise(int rank, uint32_t *flag, uint32_t epoch);
  /// Sends bytes of the own part to its mirror at that rank, if that is on another host: with the next flag, or a copy
  /// of them at once, as news.
  void show(int rank, const void *from, size_t bytes);
  void publish(int rank, const void *from, size_t bytes);

private:
  struct Offer;
  /// Makes this rank's window, and maps it.
  Status make(int own, size_t bytes, Socket &memory, Offer &offer);
  /// Maps what another rank offers.
  Status take(int rank, size_t bytes, const Offer &offer);
  Status exchange(Group &ranks, size_t bytes);
  Status mirror(int rank, size_t bytes);
  Status finishSending();
  StoredBytes ownBytes(const void *from, size_t bytes) const;

  Provider provider;
  std::vector<char *> parts;
  size_t size = 0;
  // Of jobs with ranks on other hosts.
  Link *link = nullptr;
  moert_hosts apart;
  std::vector<char> mirrored; ///< by rank; empty: none is
  std::vector<int> members;
  uint32_t number = 0, opening = 0;
  int own = 0;
  int64_t patience = 0;
  bool isShown = false;
};

} // namespace moert

#endif // MOERT_LIB_COMM_WINDOWS_H
