//===- Boxes.cpp - what is stored for a rank of another host, on its way there ------------------------------------===//

#include "comm/Boxes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace moert {

namespace {
class Lock {
public:
  explicit Lock(pthread_mutex_t &mutex) : mutex(mutex) { pthread_mutex_lock(&mutex); }
  ~Lock() { pthread_mutex_unlock(&mutex); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

private:
  pthread_mutex_t &mutex;
};
} // namespace

static size_t rounded(size_t bytes) { return (bytes + 7) / 8 * 8; }

static bool isBehind(const StoredBytes &next, const StoredBytes &before) {
  return next.from == before.from + before.bytes && next.to.window == before.to.window &&
         next.to.opening == before.to.opening && next.isMirrored == before.isMirrored;
}

Outbox::~Outbox() {
  if (open)
    put(open);
  for (Box *list : {first, unused})
    while (Box *box = list) {
      list = box->next;
      delete box;
    }
}

Outbox::Box *Outbox::take() {
  Box *box = unused ? unused : new Box;
  unused = unused ? unused->next : nullptr;
  box->next = nullptr;
  box->stored.clear();
  box->copied.clear();
  box->bytes = 0;
  box->deed = Deed();
  return box;
}

void Outbox::put(Box *box) {
  *last = box;
  last = &box->next;
  __atomic_add_fetch(&waiting, 1, __ATOMIC_RELEASE);
}

/// Appends to what it follows.
static void append(std::vector<StoredBytes> &all, const StoredBytes &stored) {
  // A row is followed by its ids and weights, in windows of their own.
  constexpr size_t kRecent = 4;
  for (size_t i = all.size(); i > 0 && all.size() - i < kRecent; --i)
    if (isBehind(stored, all[i - 1])) {
      all[i - 1].bytes += stored.bytes;
      return;
    }
  all.push_back(stored);
}

bool Outbox::add(const StoredBytes &stored) {
  Lock held(lock);
  if (isShut)
    return false;
  if (!open)
    open = take();
  append(open->stored, stored);
  open->bytes += stored.bytes;
  if (open->bytes < kLongBox)
    return false;
  put(std::exchange(open, nullptr));
  return true;
}

void Outbox::close(const Deed &deed) {
  Lock held(lock);
  if (isShut)
    return;
  Box *box = open ? open : take();
  open = nullptr;
  box->deed = deed;
  put(box);
}

void Outbox::copy(const StoredBytes &stored, const Deed &deed) {
  Lock held(lock);
  if (isShut)
    return;
  Box *box = take();
  box->copied.assign(stored.from, stored.from + stored.bytes);
  box->stored.push_back(stored);
  box->stored.back().from = box->copied.data();
  box->deed = deed;
  put(box);
}

void Outbox::shut() {
  Lock held(lock);
  isShut = true;
  range = 0;
  done = 0;
  *last = unused;
  unused = first;
  first = nullptr;
  last = &first;
  __atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
}

PackedPiece Outbox::pack(char *piece, size_t most, size_t longest, int32_t from, uint64_t secret) {
  PackedPiece packed;
  Box *box;
  {
    Lock held(lock);
    box = first;
  }
  if (!box)
    return packed;
  PieceHead head{secret, next++, from, 0, Deed()};
  size_t used = sizeof head;
  // A range with less than that of its bytes is not worth its head.
  constexpr size_t kLeast = 256;
  // So much that follows itself is not copied into the piece.
  constexpr size_t kBody = 16 << 10;
  for (; range < box->stored.size() && !packed.body; ++range, done = 0) {
    const StoredBytes &stored = box->stored[range];
    uint64_t left = stored.bytes - done;
    size_t room = most > used + sizeof(RangeHead) ? (most - used - sizeof(RangeHead)) / 8 * 8 : 0;
    if (room < std::min<uint64_t>(left, kLeast))
      break;
    RangeHead to{stored.to, static_cast<uint32_t>(std::min<uint64_t>(left, room)), stored.isMirrored};
    to.to.offset += done;
    std::memcpy(piece + used, &to, sizeof to);
    used += sizeof to;
    if (head.ranges == 0 && to.bytes >= kBody && box->copied.empty()) {
      to.bytes = static_cast<uint32_t>(std::min<uint64_t>(left, longest - used)) / 8 * 8;
      std::memcpy(piece + used - sizeof to, &to, sizeof to);
      packed.body = stored.from + done;
      packed.bodyBytes = to.bytes;
    } else {
      std::memcpy(piece + used, stored.from + done, to.bytes);
      used += rounded(to.bytes);
    }
    ++head.ranges;
    done += to.bytes;
    if (done < stored.bytes)
      break;
  }
  if (range == box->stored.size()) {
    head.deed = box->deed;
    range = 0;
    Lock held(lock);
    first = box->next;
    if (!first)
      last = &first;
    box->next = unused;
    unused = box;
    __atomic_sub_fetch(&waiting, 1, __ATOMIC_RELEASE);
  }
  std::memcpy(piece, &head, sizeof head);
  packed.bytes = used;
  return packed;
}

void Landing::open(uint32_t window, uint32_t opening, char *own, char *const *all, size_t bytes) {
  Lock held(lock);
  if (entries.size() <= window)
    entries.resize(window + 1);
  entries[window] = {opening, own, all, bytes};
}

void Landing::close(uint32_t window) {
  Lock held(lock);
  if (window < entries.size())
    entries[window] = Entry();
}

void Landing::read(void *to, const void *from, size_t bytes) const {
  Lock held(lock);
  std::memcpy(to, from, bytes);
}

char *Landing::find(const WindowPlace &place, uint64_t bytes, int mirrorOf, bool &isWrong) const {
  if (place.window >= entries.size() || !entries[place.window].own || entries[place.window].opening != place.opening)
    return nullptr;
  const Entry &entry = entries[place.window];
  // One that is wrong makes the piece wrong, whatever follows it.
  if (bytes > entry.bytes || place.offset > entry.bytes - bytes || (mirrorOf >= 0 && !entry.all)) {
    isWrong = true;
    return nullptr;
  }
  char *base = mirrorOf >= 0 ? entry.all[mirrorOf] : entry.own;
  return base ? base + place.offset : nullptr;
}

bool Landing::unpack(const CamePiece &piece) {
  PieceHead head;
  std::memcpy(&head, piece.data, sizeof head);
  Lock held(lock);
  bool isWrong = false;
  size_t used = sizeof head;
  for (uint32_t i = 0; i < head.ranges; ++i) {
    RangeHead range;
    if (piece.bytes - used < sizeof range)
      return false;
    std::memcpy(&range, piece.data + used, sizeof range);
    used += sizeof range;
    // The body is behind the last one of its buffer.
    bool isBody = piece.body && used == piece.bytes;
    const char *from = isBody ? piece.body : piece.data + used;
    if ((isBody ? piece.bodyBytes : piece.bytes - used) < rounded(range.bytes))
      return false;
    if (char *to = find(range.to, range.bytes, range.isMirrored ? head.from : -1, isWrong))
      std::memcpy(to, from, range.bytes);
    used += isBody ? 0 : rounded(range.bytes);
  }
  if (head.deed.kind == Deed::Raise) {
    char *flag = find(head.deed.at, sizeof(uint32_t), -1, isWrong);
    isWrong = isWrong || head.deed.at.offset % sizeof(uint32_t);
    if (flag && !isWrong)
      __atomic_store_n(reinterpret_cast<uint32_t *>(flag), head.deed.value, __ATOMIC_RELEASE);
  }
  return !isWrong;
}

bool Inbox::add(const CamePiece &piece, Take take, void *context) {
  PieceHead head;
  std::memcpy(&head, piece.data, sizeof head);
  if (piece.bytes + piece.bodyBytes > kLongestBytes || head.number < next || head.number - next > kMostEarly)
    return false;
  if (head.number > next) {
    // early[i] has number next + 1 + i.
    size_t at = head.number - next - 1;
    if (early.size() <= at)
      early.resize(at + 1);
    if (!early[at].empty())
      return false; // it has come before
    early[at].assign(piece.data, piece.data + piece.bytes);
    early[at].insert(early[at].end(), piece.body, piece.body + piece.bodyBytes);
    return true;
  }
  bool isFine = take(context, piece);
  __atomic_add_fetch(&next, 1, __ATOMIC_RELEASE);
  while (!early.empty()) {
    std::vector<char> held = std::move(early.front());
    early.erase(early.begin());
    if (held.empty())
      break;
    isFine = take(context, {held.data(), held.size()}) && isFine;
    __atomic_add_fetch(&next, 1, __ATOMIC_RELEASE);
  }
  return isFine;
}

} // namespace moert
