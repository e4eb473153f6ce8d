//===- Link.h - what this rank stores for ranks of other hosts ----------------------------------------------------===//
//
// A thread owns the wire: it packs boxes and sends them, unpacks what comes and raises the flags. It sleeps when there
// is nothing to do. All other threads only add to boxes.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_LINK_H
#define MOERT_LIB_COMM_LINK_H

#include "comm/Boxes.h"
#include "comm/Hosts.h"
#include "comm/Socket.h"
#include "comm/Wire.h"

#include <memory>
#include <pthread.h>
#include <vector>

namespace moert {

class Link final : Wire::Client {
public:
  /// What the job has to do, in the link's thread.
  class Listener {
  public:
    /// A rank of another host has said something on its page, or ends this rank's waits.
    virtual void heard(int rank) = 0;
    virtual void aborted(int rank, uint32_t word) = 0;
    /// The connection to it has ended.
    virtual void lost(int rank) = 0;
    /// Some 20 times in a second.
    virtual void tick() = 0;
    /// Whether waits shall end. Asked by any thread.
    virtual bool isEnding() const = 0;

  protected:
    ~Listener() = default;
  };

  Link() = default;
  Link(const Link &) = delete;
  Link &operator=(const Link &) = delete;
  ~Link() { close(); }

  /// Connects this rank with those of other hosts, and hears from them. All ranks of the job call it; it fails on all
  /// or on none. `made`: what carries pieces, unless `opened` is a failure. `secret`: what only ranks of this job put
  /// into their pieces.
  Status open(Group &ranks, const Hosts &hosts, Status opened, std::unique_ptr<Wire> made, const std::string &interface,
              uint64_t secret, int64_t nanoseconds);
  bool isOpen() const { return isRunning; }
  bool isFar(int rank) const { return isRunning && outboxes[static_cast<size_t>(rank)] != nullptr; }
  /// From here on `job` is told; null: nobody is.
  void listen(Listener *job);

  /// The boxes for a rank of another host.
  Outbox &to(int rank) { return *outboxes[static_cast<size_t>(rank)]; }
  /// To be called behind Outbox::close and copy.
  void wake();
  Landing &landing() { return windows; }
  const Landing &landing() const { return windows; }
  /// Waits until all boxes are sent: then nothing reads mirrors. -1, or a rank for which some are left after that time,
  /// or when the listener's waits shall end.
  int drain(int64_t nanoseconds);
  /// "ended, or its host cannot be reached (Connection reset by remote peer),": what a rank did that was lost.
  std::string whyLost(int rank) const;
  /// Sends what waits, until all ranks that are there have it, for a second at most, and ends the thread.
  void close();

private:
  static constexpr size_t kBuffers = 24;
  static constexpr int kTickMs = 50;

  struct Outcome;
  /// What became of a rank of another host.
  struct Loss {
    bool isLost = false;
    std::string how; ///< what it did
  };
  /// A buffer whose piece is not sent yet.
  struct Flight {
    int rank = -1; ///< none
    uint64_t number = 0;
  };
  Status share(Group &ranks, const Status &own, const std::string &version, size_t bytes, size_t &most);
  Status connect(Group &ranks, const Hosts &hosts, size_t most);
  Status greet(int64_t nanoseconds);

  static void *main(void *link);
  void finish(Deadline deadline);
  void work();
  bool sendSome();
  bool mayBeSent(size_t rank) const;
  void lose(int rank, const std::string &how);
  void sleep();
  static bool take(void *link, const CamePiece &piece);

  void came(const CamePiece &piece) override;
  void wasSent(char *buffer) override;
  void lost(int rank, const char *why) override;

  int own = 0;
  uint64_t secret = 0;
  std::unique_ptr<Wire> wire;
  std::vector<std::unique_ptr<Outbox>> outboxes; ///< by rank; none for those of this host
  std::vector<std::unique_ptr<Inbox>> inboxes;
  std::vector<char> isDone; ///< by rank: it is lost, or has confirmed this rank's last box
  Landing windows;
  std::unique_ptr<char[]> memory;
  std::vector<char *> buffers; ///< that are free
  Flight flights[kBuffers];
  size_t nextRank = 0;
  size_t longest = kPieceBytes; ///< bytes of a piece, for all ranks
  Socket bell;
  mutable pthread_mutex_t listening = PTHREAD_MUTEX_INITIALIZER;
  Listener *listener = nullptr;
  pthread_t thread;
  std::vector<uint32_t> flying; ///< by rank: pieces that are not sent yet, or are being packed
  std::vector<Loss> losses;     ///< by rank; of whoever has `listening`
  uint32_t isAsleep = 0, shallEnd = 0, someLost = 0;
  bool isRunning = false;
};

} // namespace moert

#endif // MOERT_LIB_COMM_LINK_H
