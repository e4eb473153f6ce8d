//===- DeviceWindows.h - memory of each rank on its GPU, which the others' kernels store to -----------------------===//
//
// The counterpart of comm/Windows.h. Ranks that are threads of one process share one GPU, and its addresses hold in all
// of them. Ranks that are processes of one host map each other's memory by handles.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_DEVICEWINDOWS_H
#define MOERT_LIB_CORE_DEVICEWINDOWS_H

#include "comm/Group.h"
#include "core/Device.h"

#include <vector>

namespace moert {

/// How ranks find each other's memory.
enum class DeviceProvider { Local, Handles };

class DeviceWindows {
public:
  DeviceWindows(Device &device, DeviceProvider provider) : device(device), provider(provider) {}
  DeviceWindows(const DeviceWindows &) = delete;
  DeviceWindows &operator=(const DeviceWindows &) = delete;
  ~DeviceWindows() { giveUp(); }

  /// Gives each rank a window of `bytes` zero bytes (the same for all), once all have ended what they do with those
  /// that they had. All ranks call it; it fails on all or on none.
  Status open(Group &ranks, uint64_t bytes);

  /// Each rank's window, at addresses of this rank's GPU.
  char *const *bases() const { return parts.data(); }
  uint64_t bytes() const { return size; }

private:
  struct Offer;
  Status make(Offer &offer, uint64_t bytes);
  Status take(Group &ranks, const std::vector<Offer> &offers, uint64_t bytes);
  /// Unmaps what others have.
  void giveUp();

  Device &device;
  DeviceProvider provider;
  DeviceBlock own;
  std::vector<char *> parts;
  int rank = 0; ///< whose part is `own`
  uint64_t size = 0;
};

} // namespace moert

#endif // MOERT_LIB_CORE_DEVICEWINDOWS_H
