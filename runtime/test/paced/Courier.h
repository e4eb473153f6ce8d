//===- Courier.h - boxes on a link of a given rate and latency ----------------------------------------------------===//
//
// What a flag covers is a box: all that was put for that peer since its last flag. All boxes of a rank leave over one
// link, one after the other, as through one network card. A box is on the link for its bytes at the link's rate, and
// arrives after its latency. Then the flag is raised, with release.
//
// Times are given by whoever calls, so that tests need no clock. There is no lock either: Paced.cpp has it.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_TEST_PACED_COURIER_H
#define MOERT_TEST_PACED_COURIER_H

#include <cstddef>
#include <cstdint>

namespace moert::paced {

/// A link that sends so many bytes in a second, and delivers what is sent so many nanoseconds later.
class Link {
public:
  Link(double bytesPerSecond, int64_t latency) : rate(bytesPerSecond), latency(latency) {}

  /// When a box arrives that is handed over at `now`. It waits for those before it.
  int64_t send(int64_t now, uint64_t bytes) {
    int64_t begin = now > free ? now : free;
    free = begin + static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / rate);
    return free + latency;
  }

private:
  double rate;
  int64_t latency;
  int64_t free = 0; ///< when the last box has left
};

class Courier {
public:
  static constexpr int64_t kNever = INT64_MAX;
  static constexpr int kMostPeers = 64;

  /// carries: bytes stand in the peer's window when their box arrives, and not before. Else they stand there at once,
  /// and the flag alone is late: that costs nothing while it is on its way, as a link does without the processor.
  Courier(const Link &link, bool carries) : link(link), carries(carries) {}
  Courier(const Courier &) = delete;
  Courier &operator=(const Courier &) = delete;
  ~Courier();

  /// Takes a row along, or counts one that the caller has stored.
  void put(int peer, void *to, const void *from, size_t bytes);
  /// Closes the box of the peer, and hands it over. Returns when it arrives.
  int64_t signal(int peer, uint32_t *flag, uint32_t epoch, int64_t now);
  /// Delivers what has arrived at `now`. Returns when the next box does; kNever if none is on its way.
  int64_t deliver(int64_t now);
  bool isEmpty() const { return !first; }

  /// Of all boxes that were handed over.
  uint64_t boxes = 0, bytes = 0;

private:
  struct Piece;
  struct Box {
    Box *next;
    uint32_t *flag;
    uint32_t epoch;
    int64_t arrival;
    Piece *pieces;
  };
  /// What is put for a peer until its next flag.
  struct Open {
    uint64_t bytes = 0;
    Piece *pieces = nullptr;
  };

  Link link;
  bool carries;
  Open open[kMostPeers];
  Box *first = nullptr, **last = &first;
};

} // namespace moert::paced

#endif // MOERT_TEST_PACED_COURIER_H
