//===- NcclWindows.h - windows of ranks that NCCL gives -----------------------------------------------------------===//
//
// For ranks that are processes, with a GPU each, within what loads and stores reach: a host, or several by NVLink. NCCL
// allocates, and maps the ranks' memory; kernels store there by themselves and know nothing of it. A communicator for
// each axis, which never blocks: this waits for it, no longer than for a rank, and then aborts it. It is aborted at the
// end, too, as the proper end is one that all ranks have to meet for.
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
  NcclWindows(Device &device, Job &job, const NcclApi &api) : device(device), job(job), api(api) {}
  ~NcclWindows() override;

  Status open(Group &ranks, uint64_t bytes) override;
  Status check() override;

private:
  /// Fails if one of the ranks has failed.
  Status agree(Group &ranks, Status mine);
  Status connect(Group &ranks);
  Status allocate(uint64_t bytes);
  Status registerMemory(Group &ranks, uint64_t bytes);
  Status giveUp();
  /// Waits for what a call has begun, whose result this is.
  Status finish(int result, const char *what);
  /// The failure for a result. The communicator is over.
  Status failed(int result, const char *what);
  void abort();

  Device &device;
  Job &job;
  const NcclApi &api;
  void *comm = nullptr, *memory = nullptr, *window = nullptr;
};

} // namespace moert

#endif // MOERT_LIB_CUDA_NCCLWINDOWS_H
