//===- Deliveries.h - what launches have stored for ranks that no store reaches -----------------------------------===//
//
// Kernels store to mirrors of the others' windows (DeviceWindows::areMirrors), and know nothing of it. They cannot call
// the host either; so the host looks at what it launches: a kernel stores to the windows that it is given, and a launch
// behind which the program tells of a fixed number of bytes has signalled (moert_traffic). A rehearsal finds out which
// kernels these are. All ranks launch the same, with windows at the same places, so that none has to ask another one.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_DELIVERIES_H
#define MOERT_LIB_CORE_DELIVERIES_H

#include "core/DeviceWindows.h"
#include "moert/moert_model.h"

#include <algorithm>
#include <vector>

namespace moert {

/// Of one axis.
class Deliveries {
public:
  /// In a rehearsal: behind this kernel the program has told what it sends on the axis.
  void rehearse(const moert_kernel *kernel) { add(senders, kernel); }
  /// A call begins with windows of so many bytes: their places are new.
  void begin(uint64_t bytes);
  /// Before a launch with these slots; `peers` are those of the axis. Own windows that it stores to become zero, unless
  /// something was stored there since the last delivery.
  Status launch(Device &device, const moert_kernel *kernel, const uint64_t *slots, int32_t count, const void *peers,
                char *own);
  /// What was stored goes.
  Status deliver(DeviceWindows &windows);

private:
  /// To a sorted set. Whether it was not there.
  template <typename T> static bool add(std::vector<T> &all, T one) {
    auto at = std::lower_bound(all.begin(), all.end(), one);
    if (at != all.end() && *at == one)
      return false;
    all.insert(at, one);
    return true;
  }
  uint64_t endOf(uint64_t begin) const;

  std::vector<const moert_kernel *> senders;
  uint64_t size = 0;
  std::vector<uint64_t> places, stored; ///< where windows begin: all of this call, and those with something to deliver
};

} // namespace moert

#endif // MOERT_LIB_CORE_DELIVERIES_H
