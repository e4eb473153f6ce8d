//===- Courier.cpp - boxes on a link of a given rate and latency --------------------------------------------------===//
//
// Memory is malloc's, as nothing but libc.so.6 is linked.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Courier.h"

#include <cstdlib>
#include <cstring>

namespace moert::paced {

/// A row; its bytes stand behind it.
struct Courier::Piece {
  Piece *next;
  void *to;
  size_t bytes;
};

/// A test without memory has nothing to go on with.
static void *allocate(size_t bytes) {
  void *result = std::malloc(bytes);
  if (!result)
    std::abort();
  return result;
}

Courier::~Courier() {
  deliver(kNever - 1);
  for (Open &box : open)
    while (Piece *piece = box.pieces) {
      box.pieces = piece->next;
      std::free(piece);
    }
}

void Courier::put(int peer, void *to, const void *from, size_t size) {
  Open &box = open[peer];
  box.bytes += size;
  if (!carries)
    return;
  auto *piece = static_cast<Piece *>(allocate(sizeof(Piece) + size));
  *piece = {box.pieces, to, size};
  std::memcpy(piece + 1, from, size);
  box.pieces = piece;
}

int64_t Courier::signal(int peer, uint32_t *flag, uint32_t epoch, int64_t now) {
  Open &whole = open[peer];
  uint64_t size = whole.bytes + sizeof *flag;
  auto *box = static_cast<Box *>(allocate(sizeof(Box)));
  *box = {nullptr, flag, epoch, link.send(now, size), whole.pieces};
  whole = Open();
  *last = box;
  last = &box->next;
  ++boxes;
  bytes += size;
  return box->arrival;
}

int64_t Courier::deliver(int64_t now) {
  while (first && first->arrival <= now) {
    Box *box = first;
    // No row of a box is put twice, so that their order is nobody's concern.
    while (Piece *piece = box->pieces) {
      std::memcpy(piece->to, piece + 1, piece->bytes);
      box->pieces = piece->next;
      std::free(piece);
    }
    __atomic_store_n(box->flag, box->epoch, __ATOMIC_RELEASE);
    first = box->next;
    if (!first)
      last = &first;
    std::free(box);
  }
  return first ? first->arrival : kNever;
}

} // namespace moert::paced
