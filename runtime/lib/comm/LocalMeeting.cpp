//===- LocalMeeting.cpp - ranks that are threads of one process meet ----------------------------------------------===//

#include "comm/LocalMeeting.h"

#include "core/Clock.h"

#include <cstring>
#include <memory>
#include <pthread.h>
#include <vector>

namespace moert {

/// Where the ranks of a job meet. Its last owner removes it.
struct LocalMeeting::Room {
  struct Seat {
    bool isTaken = false, hasLeft = false;
    uint64_t exchanges = 0;  ///< in which it has said what it says
    std::vector<char> said[2]; ///< in exchanges that take turns: who is in the next but one has heard all
  };

  explicit Room(const Ranks &ranks, uint64_t program)
      : token(ranks.token), program(program), creator(ranks.rank), seats(static_cast<size_t>(ranks.ranks)) {}

  std::string token;
  uint64_t program;
  int creator, owners = 0;
  std::vector<Seat> seats;
  Status failure; ///< of all
  bool isOpen = true;
  Room *next = nullptr;
};

LocalMeeting::Room *LocalMeeting::rooms = nullptr;

// There is little to wait for, so all jobs share them.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

struct LocalMeeting::Lock {
  Lock() { pthread_mutex_lock(&mutex); }
  ~Lock() { pthread_mutex_unlock(&mutex); }
};

/// With the lock: waits for a change, at most until `end` (of now()). The condition's clock may jump, so that is asked
/// again and again.
static bool waitForChange(int64_t end) {
  constexpr int64_t kStep = 100000000;
  int64_t left = end - now();
  if (left <= 0)
    return false;
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  int64_t nanoseconds = until.tv_nsec + (left < kStep ? left : kStep);
  until.tv_sec += static_cast<time_t>(nanoseconds / 1000000000);
  until.tv_nsec = static_cast<long>(nanoseconds % 1000000000);
  pthread_cond_timedwait(&changed, &mutex, &until);
  return true;
}

/// No rank finds it any more; those in it keep it.
void LocalMeeting::hide(Room *room) {
  if (!room->isOpen)
    return;
  room->isOpen = false;
  for (Room **link = &rooms; *link; link = &(*link)->next)
    if (*link == room) {
      *link = room->next;
      return;
    }
}

LocalMeeting::Room *LocalMeeting::findRoom(const Ranks &ranks, uint64_t program) {
  for (Room *known = rooms; known; known = known->next)
    if (known->token == ranks.token)
      return known;
  Room *made = new Room(ranks, program);
  made->next = rooms;
  return rooms = made;
}

/// With the lock. A job whose ranks cannot come together is over for all of them.
Status LocalMeeting::enter(const Ranks &ranks, uint64_t program) {
  room = findRoom(ranks, program);
  ++room->owners;
  auto there = static_cast<int>(room->seats.size());
  Status bad;
  if (there != count)
    bad = failure(kUserError, "rank %d was started as one of %d ranks, rank %d as one of %d", own, count, room->creator,
                  there);
  else if (room->seats[static_cast<size_t>(own)].isTaken)
    bad = failure(kUserError, "two sessions are rank %d", own);
  else if (room->program != program)
    bad = failure(kUserError, "rank %d runs another program or entry than rank %d", own, room->creator);
  if (bad.failed()) {
    room->failure = bad;
    own = -1; // has no seat
    return bad;
  }
  room->seats[static_cast<size_t>(own)].isTaken = true;
  return {};
}

template <typename Condition, typename Reason> Status LocalMeeting::wait(Condition holds, Reason whyNot) {
  int64_t end = now() + patience;
  while (!room->failure.failed() && !holds()) {
    std::string lost = whyNot(/*isLate=*/false);
    if (lost.empty() && waitForChange(end))
      continue;
    room->failure = failure(kUserError, "%s", lost.empty() ? whyNot(/*isLate=*/true).c_str() : lost.c_str());
  }
  if (!room->failure.failed())
    return {};
  hide(room);
  pthread_cond_broadcast(&changed);
  return room->failure;
}

Status LocalMeeting::join(const Ranks &ranks, uint64_t program, int64_t nanoseconds) {
  own = ranks.rank;
  count = ranks.ranks;
  patience = nanoseconds;
  Lock lock;
  (void)enter(ranks, program); // a failure is the room's
  pthread_cond_broadcast(&changed);
  auto missing = [&](bool isLate) {
    std::string list;
    int number = 0;
    for (size_t rank = 0; isLate && rank < room->seats.size(); ++rank)
      if (!room->seats[rank].isTaken && ++number <= 16)
        list += (list.empty() ? "rank " : ", ") + std::to_string(rank);
    return isLate ? format("%d of %d ranks did not arrive in time: %s", number, count, list.c_str()) : std::string();
  };
  auto areThere = [&] {
    for (const Room::Seat &seat : room->seats)
      if (!seat.isTaken)
        return false;
    return true;
  };
  Status met = wait(areThere, missing);
  hide(room);
  return met;
}

Status LocalMeeting::gather(const void *mine, void *all, size_t bytes) {
  Lock lock;
  ++exchanges;
  Room::Seat &seat = room->seats[static_cast<size_t>(own)];
  auto *data = static_cast<const char *>(mine);
  seat.said[exchanges & 1].assign(data, data + bytes);
  seat.exchanges = exchanges;
  pthread_cond_broadcast(&changed);
  auto whoIsMissing = [&](bool isLate) -> std::string {
    for (size_t rank = 0; rank < room->seats.size(); ++rank) {
      const Room::Seat &other = room->seats[rank];
      if (other.exchanges < exchanges && (isLate || other.hasLeft))
        return format("rank %zu %s", rank, other.hasLeft ? "closed its session" : "did not answer in time");
    }
    return "";
  };
  auto haveSaid = [&] {
    for (const Room::Seat &other : room->seats)
      if (other.exchanges < exchanges)
        return false;
    return true;
  };
  if (Status bad = wait(haveSaid, whoIsMissing); bad.failed())
    return bad;
  for (size_t rank = 0; rank < room->seats.size(); ++rank) {
    const std::vector<char> &said = room->seats[rank].said[exchanges & 1];
    if (said.size() != bytes)
      return failure(kUserError, "rank %zu is at another place of the program", rank);
    std::memcpy(static_cast<char *>(all) + rank * bytes, said.data(), bytes);
  }
  return {};
}

LocalMeeting::~LocalMeeting() {
  if (!room)
    return;
  Lock lock;
  if (own >= 0)
    room->seats[static_cast<size_t>(own)].hasLeft = true;
  pthread_cond_broadcast(&changed);
  if (--room->owners)
    return;
  hide(room);
  delete room;
}

} // namespace moert
