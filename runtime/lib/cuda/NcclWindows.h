//===- NcclWindows.h - windows of ranks that NCCL gives -----------------------------------------------------------===//
//
// For ranks that are processes, with a GPU each. Within what loads and stores reach, a host, or several by NVLink, NCCL
// allocates, and maps the ranks' memory; kernels store there by themselves and know nothing of it. Where some rank of
// the axis is farther away, or NCCL is older than that, kernels store to mirrors, and NCCL adds those of all ranks up.
//
// A communicator for each axis, which never blocks: this waits for it, no longer than for a rank, and then aborts it.
// It is aborted at the end, too, as the proper end is one that all ranks have to meet for.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CUDA_NCCLWINDOWS_H
#define MOERT_LIB_CUDA_NCCLWINDOWS_H

#include "comm/Job.h"
#include "core/DeviceWindows.h"
#include "cuda/Nccl.h"

namespace moert {

class NcclWindows final : public DeviceWindows {
public:
  NcclWindows(Device &device, Job &job, const NcclApi &api, void *stream)
      : device(device), job(job), api(api), stream(stream) {}
  ~NcclWindows() override;

  Status open(Group &ranks, uint64_t bytes) override;
  Status check() override;
  void watch(bool isLate) override;
  Status deliver(const std::vector<Range> &ranges) override;

private:
  /// Fails if one of the ranks has failed.
  Status agree(Group &ranks, Status mine);
  Status connect(Group &ranks);
  Status allocate(uint64_t bytes);
  Status registerMemory(uint64_t bytes);
  /// Finds the peers' memory. `isFar`: there are ranks that it does not reach.
  Status findPeers(Group &ranks, int64_t &isFar);
  Status openDirect(Group &ranks, uint64_t bytes);
  Status openMirrors(Group &ranks, uint64_t bytes);
  Status giveUp();
  /// Waits for what a call has begun, whose result this is.
  Status finish(int result, const char *what);
  /// The failure for a result. The communicator is over.
  Status failed(int result, const char *what);
  void abort();

  Device &device;
  Job &job;
  const NcclApi &api;
  void *stream;
  DeviceBlock block; ///< of mirrors: as many windows as there are ranks
  size_t own = 0;    ///< this rank's
  Status late;       ///< an error that was found while the device was waited for
  void *comm = nullptr, *memory = nullptr, *window = nullptr;
};

} // namespace moert

#endif // MOERT_LIB_CUDA_NCCLWINDOWS_H
