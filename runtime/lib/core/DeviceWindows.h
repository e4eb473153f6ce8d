//===- DeviceWindows.h - memory of each rank on its GPU, which the others' kernels store to -----------------------===//
//
// The counterpart of comm/Windows.h. Ranks that are threads of one process share one GPU, and its addresses hold in all
// of them. Ranks that are processes of one host map each other's memory by handles, or have it from NCCL
// (cuda/NcclWindows.h).
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_DEVICEWINDOWS_H
#define MOERT_LIB_CORE_DEVICEWINDOWS_H

#include "comm/Group.h"
#include "core/Device.h"

#include <vector>

namespace moert {

class DeviceWindows {
public:
  DeviceWindows() = default;
  DeviceWindows(const DeviceWindows &) = delete;
  DeviceWindows &operator=(const DeviceWindows &) = delete;
  virtual ~DeviceWindows() = default;

  /// Gives each rank a window of `bytes` zero bytes (the same for all), once all have ended what they do with those
  /// that they had. All ranks call it; it fails on all or on none, without a message where only others know why.
  virtual Status open(Group &ranks, uint64_t bytes) = 0;
  /// What went wrong since, of which no call has told.
  virtual Status check() { return {}; }
  /// Asked while the device is waited for: ends what cannot end by itself.
  virtual void watch(bool) {}

  /// Bytes of all windows.
  struct Range {
    uint64_t begin, end;
  };
  /// Whether stores to a peer lead to a mirror of its windows here, which deliver() brings there.
  bool areMirrors() const { return mirrors; }
  /// Behind what was asked of the device so far: in these ranges each rank's own windows become the bitwise sum of all
  /// mirrors of them, which become zero. All ranks call it with the same ranges.
  virtual Status deliver(const std::vector<Range> &) { return {}; }

  /// Each rank's window, at addresses of this rank's GPU.
  char *const *bases() const { return parts.data(); }
  uint64_t bytes() const { return size; }

protected:
  std::vector<char *> parts;
  uint64_t size = 0;
  bool mirrors = false;
};

/// How ranks find each other's memory.
enum class DeviceProvider { Local, Handles };

/// Memory that is given to one rank after the other.
class MappedWindows final : public DeviceWindows {
public:
  MappedWindows(Device &device, DeviceProvider provider) : device(device), provider(provider) {}
  ~MappedWindows() override { giveUp(); }

  Status open(Group &ranks, uint64_t bytes) override;

private:
  struct Offer;
  Status make(Offer &offer, uint64_t bytes);
  Status take(Group &ranks, const std::vector<Offer> &offers, uint64_t bytes);
  /// Unmaps what others have.
  void giveUp();

  Device &device;
  DeviceProvider provider;
  DeviceBlock own;
  int rank = 0; ///< whose part is `own`
};

/// Collects `mine` of all ranks in exchanges of few bytes, as those of a run are.
Status gatherLarge(Group &ranks, const void *mine, void *all, size_t bytes);

} // namespace moert

#endif // MOERT_LIB_CORE_DEVICEWINDOWS_H
