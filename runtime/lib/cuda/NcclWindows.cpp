//===- NcclWindows.cpp - windows of ranks that NCCL gives ---------------------------------------------------------===//

#include "cuda/NcclWindows.h"

#include "cuda/CudaDevice.h"

#include <algorithm>
#include <unistd.h>

namespace moert {

/// What has missed its deadline may still store to windows of others, and read its own: the process's end unmaps both.
NcclWindows::~NcclWindows() {
  if (device.isBusy() && !mirrors)
    return;
  abort();
  if (memory)
    (void)api.memFree(memory);
}

void NcclWindows::abort() {
  if (comm)
    (void)api.commAbort(comm);
  comm = window = nullptr;
}

/// What NCCL says of a rank that has failed already is not the cause: that rank's own words are.
Status NcclWindows::failed(int result, const char *what) {
  if (job.isDisturbed()) {
    abort();
    return job.why();
  }
  const char *last = comm ? api.getLastError(comm) : nullptr;
  Status status = failure(kUserError, "%s: NCCL: %s: %s%s%s", device.name(), what, api.getErrorString(result),
                          last && *last ? ": " : "", last ? printable(last).c_str() : "");
  abort();
  return status;
}

Status NcclWindows::finish(int result, const char *what) {
  for (Deadline deadline(job.nanoseconds()); result == kNcclInProgress && comm; usleep(50)) {
    if (int error = api.commGetAsyncError(comm, &result))
      result = error;
    if (result != kNcclInProgress)
      break;
    if (job.isDisturbed()) {
      abort();
      return job.why();
    }
    if (deadline.isOver()) {
      abort();
      return failure(kUserError, "%s: NCCL: %s: no end after %g s; a rank is silent", device.name(), what,
                     static_cast<double>(job.nanoseconds()) / 1e9);
    }
  }
  return result == kNcclSuccess ? Status() : failed(result, what);
}

Status NcclWindows::agree(Group &ranks, Status mine) {
  int64_t anyFailed = 0;
  if (Status bad = ranks.agree(mine.failed(), anyFailed); bad.failed())
    return bad;
  if (!mine.failed() && anyFailed)
    mine.code = kUserError; // it says why
  return mine;
}

Status NcclWindows::connect(Group &ranks) {
  struct Hello {
    NcclId id;
    int32_t result;
  } mine{{}, kNcclSuccess};
  if (ranks.rank() == 0)
    mine.result = api.getUniqueId(&mine.id);
  std::vector<Hello> all(static_cast<size_t>(ranks.ranks()));
  if (Status bad = gatherLarge(ranks, &mine, all.data(), sizeof mine); bad.failed())
    return bad;
  if (all[0].result != kNcclSuccess)
    return failed(all[0].result, "making an identity of ranks");
  NcclConfig config;
  return finish(api.commInitRankConfig(&comm, ranks.ranks(), all[0].id, ranks.rank(), &config), "connecting ranks");
}

Status NcclWindows::giveUp() {
  Status status;
  if (window)
    status = finish(api.commWindowDeregister(comm, window), "giving windows back");
  window = nullptr;
  if (memory)
    (void)api.memFree(memory);
  memory = nullptr;
  parts.clear();
  size = 0;
  return status;
}

Status NcclWindows::allocate(uint64_t bytes) {
  if (int result = api.memAlloc(&memory, bytes)) {
    memory = nullptr;
    return failed(result, format("allocating windows of %llu bytes", static_cast<unsigned long long>(bytes)).c_str());
  }
  if (Status s = device.zero(memory, bytes); s.failed())
    return s;
  return device.finish();
}

Status NcclWindows::registerMemory(uint64_t bytes) {
  return finish(api.commWindowRegister(comm, memory, bytes, &window, kNcclSymmetricWindow), "registering windows");
}

Status NcclWindows::findPeers(Group &ranks, int64_t &isFar) {
  isFar = window && api.teamLsa(comm).ranks < ranks.ranks();
  if (isFar)
    return {};
  parts.assign(static_cast<size_t>(ranks.ranks()), nullptr);
  for (int peer = 0; peer < ranks.ranks(); ++peer) {
    void *there = nullptr;
    int result = window ? api.getLsaDevicePointer(window, 0, peer, &there) : kNcclSuccess;
    if (result != kNcclSuccess || !there)
      return failure(kUserError,
                     "%s: NCCL: kernels cannot use the windows of rank %d of the axis; each GPU must reach the others "
                     "(nvidia-smi topo -p2p rw), with NCCL_CUMEM_ENABLE and NCCL_WIN_ENABLE as they are by default",
                     device.name(), peer);
    parts[static_cast<size_t>(peer)] = static_cast<char *>(there);
  }
  return {};
}

Status NcclWindows::openDirect(Group &ranks, uint64_t bytes) {
  Status mine = agree(ranks, allocate(bytes));
  if (!mine.failed())
    mine = agree(ranks, registerMemory(bytes));
  int64_t isFar = 0;
  if (!mine.failed())
    mine = agree(ranks, findPeers(ranks, isFar));
  if (!mine.failed())
    mine = ranks.agree(isFar, isFar);
  mirrors = isFar;
  if (!mine.failed() && mirrors)
    mine = agree(ranks, giveUp());
  return mine;
}

Status NcclWindows::openMirrors(Group &ranks, uint64_t bytes) {
  const auto count = static_cast<uint64_t>(ranks.ranks());
  Status mine = device.reserve(block, count * bytes, "windows of ranks, and a mirror of each other rank's");
  if (!mine.failed())
    mine = device.zero(block.base, count * bytes);
  if (!mine.failed())
    mine = device.finish();
  own = static_cast<size_t>(ranks.rank());
  parts.clear();
  for (uint64_t rank = 0; rank < count && !mine.failed(); ++rank)
    parts.push_back(static_cast<char *>(block.base) + rank * bytes);
  return agree(ranks, mine);
}

Status NcclWindows::open(Group &ranks, uint64_t bytes) {
  constexpr uint64_t kAlignment = 4096;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  // Nobody stores any more, before what was there goes.
  Status mine = agree(ranks, device.finish());
  if (!mine.failed() && !comm)
    mine = agree(ranks, connect(ranks));
  if (!mine.failed())
    mine = agree(ranks, giveUp());
  mirrors = mirrors || !api.hasWindows();
  if (!mine.failed() && !mirrors)
    mine = openDirect(ranks, bytes);
  if (!mine.failed() && mirrors)
    mine = openMirrors(ranks, bytes);
  if (!mine.failed())
    size = bytes;
  return mine;
}

/// Bytes of which only one rank has stored any, so that a sum of integers of any order is what it has stored.
Status NcclWindows::deliver(const std::vector<Range> &ranges) {
  if (!comm)
    return late.failed() ? late : job.why();
  const std::string what = format("the exchange in \"%s\"", job.presentPhase());
  int result = api.groupStart();
  for (const Range &range : ranges)
    for (size_t root = 0; root < parts.size() && result == kNcclSuccess; ++root) {
      char *at = parts[root] + range.begin;
      result = api.reduce(at, at, (range.end - range.begin) / sizeof(uint64_t), kNcclUint64, kNcclSum,
                          static_cast<int>(root), comm, stream);
    }
  if (result != kNcclSuccess)
    return failed(result, what.c_str());
  if (Status s = finish(api.groupEnd(), what.c_str()); s.failed())
    return s;
  for (const Range &range : ranges)
    for (size_t rank = 0; rank < parts.size(); ++rank)
      if (rank != own)
        if (Status s = device.zero(parts[rank] + range.begin, range.end - range.begin); s.failed())
          return s;
  return {};
}

/// Kernels of NCCL have no deadline; their communicator's end is theirs. Those of the program end by themselves.
void NcclWindows::watch(bool isLate) {
  if (!comm || !mirrors)
    return;
  if (isLate || job.isDisturbed())
    return abort();
  int result = kNcclSuccess;
  if (int error = api.commGetAsyncError(comm, &result))
    result = error;
  if (result != kNcclSuccess && result != kNcclInProgress)
    late = failed(result, "behind a launch");
}

Status NcclWindows::check() {
  if (late.failed())
    return late;
  int result = kNcclSuccess;
  if (comm)
    if (int error = api.commGetAsyncError(comm, &result))
      result = error;
  return result == kNcclSuccess || result == kNcclInProgress ? Status() : failed(result, "behind a call");
}

Status CudaDevice::openNccl(std::string &version) {
  const NcclApi *api = nullptr;
  Status status = moert::openNccl(api);
  if (!status.failed())
    version = ncclVersionText(api->version);
  return status;
}

std::unique_ptr<DeviceWindows> CudaDevice::ncclWindows(Job &job) {
  const NcclApi *api = nullptr;
  if (moert::openNccl(api).failed())
    return nullptr;
  return std::unique_ptr<DeviceWindows>(new NcclWindows(*this, job, *api, stream));
}

} // namespace moert
