//===- Bootstrap.h - the ranks of a job meet and exchange small things --------------------------------------------===//
//
// A star over TCP: rank 0 listens, the others connect to it. Whoever connects has to show the job's token, and that it
// runs the same program; all others are turned away and do not delay anyone. The token is sent as it is: it keeps jobs
// apart and strangers out of a job, but who listens at rank 0's place before rank 0 does could read it. What is
// exchanged are handles, sizes and errors, a few bytes each; rows travel through windows (Windows.h).
//
// An exchange fails on all ranks alike: rank 0 tells the others which rank is missing, and why.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_BOOTSTRAP_H
#define MOERT_LIB_COMM_BOOTSTRAP_H

#include "comm/Group.h"
#include "comm/Ranks.h"
#include "comm/Socket.h"

#include <vector>

namespace moert {

class Bootstrap final : public Group {
public:
  /// Meets the other ranks. `program` is what must be the same for all, as a digest of executable and plan. Each
  /// exchange, the meeting included, may take `nanoseconds`.
  Status join(const Ranks &ranks, uint64_t program, int64_t nanoseconds);

  int rank() const override { return own; }
  int ranks() const override { return count; }
  Status gather(const void *mine, void *all, size_t bytes) override;

private:
  static constexpr size_t kTokenBytes = 128;
  struct Frame;
  struct Hello;
  struct Stranger;

  static Hello hello(const Ranks &ranks, uint64_t program);
  Status listenForRanks(const Ranks &ranks, const Hello &mine);
  /// Takes the socket of a process that has the token, if it is a rank that is expected.
  Status admit(const Hello &said, const Hello &mine, Socket &socket, int &arrived);
  /// The ranks that have not arrived, for messages.
  std::string missing() const;
  /// Tells all ranks but `except` why there will be no result, and returns it.
  Status tell(int except, Status reason);
  Status receiveFrame(const Socket &from, void *data, size_t bytes, Deadline deadline) const;
  Status sendFrame(const Socket &to, const void *data, size_t bytes, Deadline deadline) const;

  int own = 0, count = 1;
  int64_t patience = 0;         ///< nanoseconds that an exchange may take
  uint32_t exchanges = 0;       ///< all ranks are in the same one
  std::vector<Socket> sockets;  ///< of rank 0: by rank, none for itself; of the others: the one to rank 0
};

} // namespace moert

#endif // MOERT_LIB_COMM_BOOTSTRAP_H
