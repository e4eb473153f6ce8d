//===- Deliveries.cpp - what launches have stored for ranks that no store reaches ---------------------------------===//

#include "core/Deliveries.h"

namespace moert {

void Deliveries::begin(uint64_t bytes) {
  size = bytes;
  places.clear();
  stored.clear();
}

/// A window is taken to reach to the next one that this call has used. What lies between was not stored to in this
/// call, so it may be zeroed, and to deliver it changes nothing.
uint64_t Deliveries::endOf(uint64_t begin) const {
  auto next = std::upper_bound(places.begin(), places.end(), begin);
  return next == places.end() ? size : *next;
}

Status Deliveries::launch(Device &device, const moert_kernel *kernel, const uint64_t *slots, int32_t count,
                          const void *peers, char *own) {
  const bool sends = std::binary_search(senders.begin(), senders.end(), kernel);
  std::vector<uint64_t> used;
  for (int32_t slot = 0; slot + 1 < count; ++slot)
    if (slots[slot] == reinterpret_cast<uintptr_t>(peers) && slots[slot + 1] < size)
      add(used, slots[slot + 1]);
  for (uint64_t begin : used)
    add(places, begin);
  for (uint64_t begin : used)
    if (sends && add(stored, begin))
      if (Status s = device.zero(own + begin, endOf(begin) - begin); s.failed())
        return s;
  return {};
}

Status Deliveries::deliver(DeviceWindows &windows) {
  std::vector<DeviceWindows::Range> ranges;
  for (uint64_t begin : stored) {
    const uint64_t end = endOf(begin);
    if (!ranges.empty() && ranges.back().end == begin)
      ranges.back().end = end;
    else
      ranges.push_back({begin, end});
  }
  stored.clear();
  return ranges.empty() ? Status() : windows.deliver(ranges);
}

} // namespace moert
