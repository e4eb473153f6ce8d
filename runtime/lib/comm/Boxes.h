//===- Boxes.h - what is stored for a rank of another host, on its way there --------------------------------------===//
//
// What a flag covers is a box: all that was stored for that rank since its last flag, by whatever thread, and then the
// flag. One that grows long goes before its flag, which is then in a later box. Boxes for one rank are put in order,
// cut into pieces of a limited size, numbered, and unpacked there in the order of their numbers, however they arrive.
// So a flag is raised behind all that was stored before it, as release promises inside a host; and what ranks tell each
// other by their pages keeps its order with the rows.
//
// Bytes stay in this process's mirror of the window until their piece is packed. Nobody writes a place there again
// before that rank has answered what was sent (docs/rationale/hosts.md).
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_BOXES_H
#define MOERT_LIB_COMM_BOXES_H

#include <cstddef>
#include <cstdint>
#include <pthread.h>
#include <vector>

namespace moert {

/// A place in the windows of a job: `window` is their number, `opening` how often they were opened. What is on its
/// way when windows grow is for memory that is no more.
struct WindowPlace {
  uint32_t window = 0, opening = 0;
  uint64_t offset = 0;
};

/// What is done when all bytes of a box are there.
struct Deed {
  enum Kind : uint32_t {
    Nothing,
    Raise,  ///< the word at `at` becomes `value`
    Abort,  ///< the abort word becomes `value`, unless it is set
    Publish, ///< the sender's page is news
    Leave,   ///< this was the last box, which is to be confirmed
    Confirm  ///< the last box has come
  };
  uint32_t kind = Nothing, value = 0;
  WindowPlace at;
};

/// Bytes of a box.
struct StoredBytes {
  const char *from = nullptr;
  uint64_t bytes = 0;
  WindowPlace to;
  bool isMirrored = false; ///< they go to the mirror of the sender's window, not to the receiver's own one
};

/// The limits of pieces, for both sides: so many bytes are copied into one, and so many has one with a body in all.
/// And so far may one be in front of the first one that is not there; who sends keeps to it.
constexpr size_t kPieceBytes = 56 << 10, kLongestBytes = 544 << 10;
constexpr uint64_t kMostEarly = 64;
/// So much does not wait for its flag. With its heads, and a last row of up to 31 KiB that exceeds it, it is one piece.
constexpr uint64_t kLongBox = uint64_t(512) << 10;

/// How the parts of a piece begin; all is of one architecture.
struct PieceHead {
  uint64_t secret, number; ///< number: of the piece, from its sender to its receiver
  int32_t from;            ///< rank of the job
  uint32_t ranges;         ///< RangeHead and its bytes, rounded up to 8
  Deed deed;
};
struct RangeHead {
  WindowPlace to;
  uint32_t bytes, isMirrored;
};

static_assert(kLongBox + (31 << 10) + sizeof(PieceHead) + sizeof(RangeHead) <= kLongestBytes);

/// What pack() has made: so many bytes in its buffer, and behind them a body that stands where it was stored.
struct PackedPiece {
  size_t bytes = 0;
  const char *body = nullptr;
  size_t bodyBytes = 0;
};

/// A piece as it has come: what was in the sender's buffer, and the body, if that stands elsewhere.
struct CamePiece {
  const char *data = nullptr;
  size_t bytes = 0;
  const char *body = nullptr;
  size_t bodyBytes = 0;
};

/// The boxes for one rank. Any thread adds to them, one packs.
class Outbox {
public:
  Outbox() = default;
  Outbox(const Outbox &) = delete;
  Outbox &operator=(const Outbox &) = delete;
  ~Outbox();

  /// Adds to the box that is open. True: that was long enough to be put on its way.
  bool add(const StoredBytes &stored);
  /// Puts the open box on its way.
  void close(const Deed &deed);
  /// Puts a copy of these bytes on its way, in a box of its own.
  void copy(const StoredBytes &stored, const Deed &deed);

  /// Makes the next piece, of at most `most` bytes, or `longest` with its body; 0 bytes: nothing waits.
  PackedPiece pack(char *piece, size_t most, size_t longest, int32_t from, uint64_t secret);
  /// Of the next piece.
  uint64_t number() const { return next; }
  bool isEmpty() const { return __atomic_load_n(&waiting, __ATOMIC_ACQUIRE) == 0; }
  /// Forgets all that waits, and takes no more. Only by the thread that packs.
  void shut();

private:
  struct Box {
    std::vector<StoredBytes> stored;
    std::vector<char> copied;
    uint64_t bytes = 0; ///< of `stored`
    Deed deed;
    Box *next = nullptr;
  };
  Box *take();           // with the lock: one that is empty
  void put(Box *box);    // with the lock

  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Box *open = nullptr, *first = nullptr, **last = &first, *unused = nullptr;
  uint32_t waiting = 0; ///< boxes
  bool isShut = false;
  // Of the first box, by the thread that packs.
  size_t range = 0;
  uint64_t done = 0, next = 0;
};

/// Windows by number, into which pieces are unpacked.
class Landing {
public:
  /// `own`: this rank's; `all`: by rank of the job, if mirrors of others are written, too.
  void open(uint32_t window, uint32_t opening, char *own, char *const *all, size_t bytes);
  void close(uint32_t window);
  /// Does what a whole piece says, but for deeds that are not Raise, which are the caller's. False: it makes no sense.
  /// Bytes for windows of another opening are left out.
  bool unpack(const CamePiece &piece);
  /// Copies what nothing is unpacked to meanwhile.
  void read(void *to, const void *from, size_t bytes) const;

private:
  struct Entry {
    uint32_t opening = 0;
    char *own = nullptr;
    char *const *all = nullptr;
    size_t bytes = 0;
  };
  /// Null if those windows are not there; `isWrong` if the place is in none.
  char *find(const WindowPlace &place, uint64_t bytes, int mirrorOf, bool &isWrong) const;

  mutable pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::vector<Entry> entries;
};

/// What has come from one rank out of its order: at most kMostEarly pieces of at most kLongestBytes.
class Inbox {
public:
  /// Calls `take(context, piece)` for the piece and for those that it was in front of. False if that is, or if the
  /// number is nonsense.
  using Take = bool (*)(void *context, const CamePiece &piece);
  bool add(const CamePiece &piece, Take take, void *context);
  /// How many pieces have come in order.
  uint64_t count() const { return __atomic_load_n(&next, __ATOMIC_ACQUIRE); }

private:
  uint64_t next = 0;
  std::vector<std::vector<char>> early;
};

} // namespace moert

#endif // MOERT_LIB_COMM_BOXES_H
