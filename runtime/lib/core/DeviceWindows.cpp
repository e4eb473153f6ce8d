//===- DeviceWindows.cpp - memory of each rank on its GPU, which the others' kernels store to ---------------------===//

#include "core/DeviceWindows.h"

#include "comm/Control.h"

#include <algorithm>
#include <cstring>

namespace moert {

/// How the others find a window.
struct MappedWindows::Offer {
  uint64_t bytes, address; ///< in this process
  DeviceHandle handle;
  int64_t isMade;
};

Status gatherLarge(Group &ranks, const void *mine, void *all, size_t size) {
  const auto count = static_cast<size_t>(ranks.ranks());
  std::vector<char> pieces(count * ControlSlot::kBytes);
  for (size_t at = 0; at < size; at += ControlSlot::kBytes) {
    const size_t bytes = std::min(size - at, ControlSlot::kBytes);
    if (Status bad = ranks.gather(static_cast<const char *>(mine) + at, pieces.data(), bytes); bad.failed())
      return bad;
    for (size_t rank = 0; rank < count; ++rank)
      std::memcpy(static_cast<char *>(all) + rank * size + at, pieces.data() + rank * bytes, bytes);
  }
  return {};
}

Status MappedWindows::make(Offer &offer, uint64_t bytes) {
  if (Status s = device.reserve(own, bytes, "windows of ranks"); s.failed())
    return s;
  if (Status s = device.zero(own.base, bytes); s.failed())
    return s;
  if (Status s = device.finish(); s.failed())
    return s;
  if (provider == DeviceProvider::Handles)
    if (Status s = device.offer(own, offer.handle); s.failed())
      return s;
  offer.address = reinterpret_cast<uintptr_t>(own.base);
  offer.isMade = 1;
  return {};
}

Status MappedWindows::take(Group &ranks, const std::vector<Offer> &offers, uint64_t bytes) {
  for (int peer = 0; peer < ranks.ranks(); ++peer) {
    const Offer &offer = offers[static_cast<size_t>(peer)];
    if (!offer.isMade)
      return {kUserError, ""}; // it says why
    if (offer.bytes != bytes)
      return failure(kUserError, "rank %d wants windows of %llu bytes, rank %d of %llu", peer,
                     static_cast<unsigned long long>(offer.bytes), rank, static_cast<unsigned long long>(bytes));
  }
  parts.assign(offers.size(), nullptr);
  for (int peer = 0; peer < ranks.ranks(); ++peer) {
    const Offer &offer = offers[static_cast<size_t>(peer)];
    void *there = reinterpret_cast<void *>(static_cast<uintptr_t>(offer.address));
    if (peer != rank && provider == DeviceProvider::Handles)
      if (Status s = device.map(offer.handle, there); s.failed())
        return s;
    parts[static_cast<size_t>(peer)] = static_cast<char *>(there);
  }
  return {};
}

void MappedWindows::giveUp() {
  for (size_t peer = 0; peer < parts.size(); ++peer)
    if (parts[peer] && static_cast<int>(peer) != rank && provider == DeviceProvider::Handles)
      (void)device.unmap(parts[peer]);
  parts.clear();
  size = 0;
}

Status MappedWindows::open(Group &ranks, uint64_t bytes) {
  // Between the first exchange and the second, nobody stores any more; behind the second, nobody has what goes.
  Status mine = device.finish();
  if (Status bad = ranks.barrier(); bad.failed())
    return bad;
  giveUp();
  if (Status bad = ranks.barrier(); bad.failed())
    return bad;
  rank = ranks.rank();
  Offer offer{bytes, 0, {}, 0};
  if (!mine.failed())
    mine = make(offer, bytes);
  std::vector<Offer> offers(static_cast<size_t>(ranks.ranks()));
  if (Status bad = gatherLarge(ranks, &offer, offers.data(), sizeof offer); bad.failed())
    return bad;
  if (!mine.failed())
    mine = take(ranks, offers, bytes);
  // Until all have mapped it, the memory stays.
  int64_t failed = mine.failed(), anyFailed = 0;
  if (Status bad = ranks.agree(failed, anyFailed); bad.failed())
    return bad;
  if (!mine.failed() && anyFailed)
    mine.code = kUserError;
  if (!mine.failed())
    size = bytes;
  return mine;
}

} // namespace moert
