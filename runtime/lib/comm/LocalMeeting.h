//===- LocalMeeting.h - ranks that are threads of one process meet ------------------------------------------------===//
//
// What Bootstrap is for processes: whoever has the job's token and runs the same program is let in, an exchange fails
// on all ranks alike, and no wait is longer than it may be. It needs no port and no file.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_LOCALMEETING_H
#define MOERT_LIB_COMM_LOCALMEETING_H

#include "comm/Group.h"
#include "comm/Ranks.h"

namespace moert {

class LocalMeeting final : public Group {
public:
  LocalMeeting() = default;
  LocalMeeting(const LocalMeeting &) = delete;
  LocalMeeting &operator=(const LocalMeeting &) = delete;
  /// Ends the waits of those for whom this rank has not done its part.
  ~LocalMeeting();

  /// Meets the other ranks of this process. `program` as in Bootstrap. Each exchange, the meeting included, may take
  /// `nanoseconds`.
  Status join(const Ranks &ranks, uint64_t program, int64_t nanoseconds);

  int rank() const override { return own; }
  int ranks() const override { return count; }
  Status gather(const void *mine, void *all, size_t bytes) override;

private:
  struct Room;
  struct Lock;

  static Room *rooms; ///< to which ranks may still come
  static Room *findRoom(const Ranks &ranks, uint64_t program);
  static void hide(Room *room);
  Status enter(const Ranks &ranks, uint64_t program);
  /// Waits, without the lock, until `holds`, or until somebody has failed or is missing for too long.
  template <typename Condition, typename Reason> Status wait(Condition holds, Reason whyNot);

  int own = 0, count = 1;
  int64_t patience = 0;
  uint64_t exchanges = 0; ///< all ranks are in the same one
  Room *room = nullptr;
};

} // namespace moert

#endif // MOERT_LIB_COMM_LOCALMEETING_H
