//===- DeviceRanks.h - the ranks of a program whose kernels run on a GPU ------------------------------------------===//
//
// Kernels read moert_peers, and count epochs, in the GPU's memory. The word that ends their waits is that of the rank's
// page, in memory of the host that the GPU reads: so whatever ends the waits of the host ends theirs. Launches end
// later than they are asked for, and so a call looks at what waits have left behind the last one, and behind
// a value that it reads.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_DEVICERANKS_H
#define MOERT_LIB_CORE_DEVICERANKS_H

#include "comm/Job.h"
#include "core/Deliveries.h"
#include "core/Memory.h"

#include <memory>

namespace moert {

class DeviceRanks final : DeviceWatch {
public:
  /// What a rank has sent, as moert_traffic is told.
  struct Sent {
    int32_t axis;
    int64_t rows, rowBytes, fixedBytes;
    const char *phase;
    bool hasOffsets = false;
    size_t at = 0; ///< the offsets, among those of the call
  };

  /// With `namesLaunches` a wait in vain is told with the launch in which it was, which takes a copy behind each.
  DeviceRanks(Device &device, Job &job, bool namesLaunches);
  DeviceRanks(const DeviceRanks &) = delete;
  DeviceRanks &operator=(const DeviceRanks &) = delete;
  /// Waits for the device, which may read what is shared; if that is in vain, it stays shared.
  ~DeviceRanks();

  /// Behind the start of the job. `byNccl`: windows are NCCL's, which the device has opened.
  Status open(int32_t axisCount, bool byNccl);
  /// Before a run that does not wait, and may be captured: from then on it leaves its words in memory of the host, by
  /// mirror(), and a later call finds there what went wrong, by lookBack().
  Status openMirror();
  Status mirror();
  Status lookBack(const char *entry);
  /// Windows of so many bytes for the axis, as Job::openWindows.
  Status openWindows(int32_t index, uint64_t bytes);
  const moert_peers *peers(int32_t index) const { return at<moert_peers>(axes[static_cast<size_t>(index)]->peersAt); }
  /// The address in this rank's windows of those peers; null: nobody has been given such peers.
  void *part(const moert_peers *peers, int64_t offset) const;

  void beginCall();
  /// Before a launch of the program with these slots.
  Status beforeLaunch(const moert_program &program, const moert_kernel *kernel, const void *slots);
  /// Behind a launch of which the program has told that it sends on the axis; `signals`: it also stored flags.
  Status delivers(int32_t index, bool signals);
  /// Fails if kernels cannot wait for what kernels of other ranks store in the same launch.
  Status checkOverlap() const;
  /// Behind a launch.
  Status noteLaunch(const char *kernel, const char *phase);
  /// `offsets` are the GPU's, or null.
  Status noteSent(Sent sent, const int32_t *offsets);
  /// In a rehearsal these count alone, and then there is room for as many.
  void countLaunch(const moert_kernel *kernel) {
    ++launchCount;
    lastRehearsed = kernel;
  }
  void rehearseSent(int32_t index) { axes[static_cast<size_t>(index)]->deliveries.rehearse(lastRehearsed); }
  void countSent(int32_t index) { offsetCount += offsetsOf(index); }
  Status reserveNotes();

  /// Waits for all launches of the call of `entry`. A wait in vain is the job's failure.
  Status look(const char *entry);
  /// What the call has sent, behind look().
  const std::vector<Sent> &sent() const { return sents; }
  const int32_t *offsets(const Sent &of) const { return of.hasOffsets ? readOffsets.data() + of.at : nullptr; }

private:
  struct Words {
    uint32_t epoch, status;
    uint32_t lateFlag; ///< + 1; kernels find it behind `status`
  };
  struct Axis {
    std::unique_ptr<DeviceWindows> windows;
    size_t peersAt = 0; ///< in the block
    Deliveries deliveries; ///< of windows that are mirrors
  };
  struct Launch {
    const char *kernel, *phase;
    Job::Flags flags;
  };

  template <typename T> T *at(size_t offset) const {
    return reinterpret_cast<T *>(static_cast<char *>(block.base) + offset);
  }
  void watch(bool isLate) override;
  Status describe(int32_t index);
  Status explain(const char *entry);
  Status explainWindows(ControlGroup &group, const Status &status);
  size_t offsetsOf(int32_t index) const { return static_cast<size_t>(job.axis(index).ranks()) + 1; }

  Device &device;
  Job &job;
  const bool namesLaunches;
  void *page = nullptr; ///< of the job, where the GPU finds it
  DeviceBlock block;    ///< words by axis, then what describes the peers of each
  std::vector<std::unique_ptr<Axis>> axes;
  std::vector<Words> words; ///< as they were behind the last call
  std::string phase;
  Memory mirrored; ///< words; none in sessions that wait

  DeviceBlock launchLog, offsetLog;
  size_t launchCount = 0, offsetCount = 0; ///< of this call
  const moert_kernel *lastRehearsed = nullptr;
  std::vector<Launch> launches;
  std::vector<Sent> sents;
  std::vector<int32_t> readOffsets;
};

} // namespace moert

#endif // MOERT_LIB_CORE_DEVICERANKS_H
