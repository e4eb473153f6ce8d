//===- Windows.cpp - memory of each rank that the others store to -------------------------------------------------===//

#include "comm/Windows.h"

#include "comm/Mapping.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace moert {

static constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Status Windows::make(size_t bytes, Socket &memory) {
  Socket made(memfd_create("moe-window", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Memory is taken now: a store into a page that cannot be had would end the process.
  int error = !made.isOpen() || ftruncate(made.descriptor(), static_cast<off_t>(bytes)) ? errno : 0;
  if (!error)
    error = posix_fallocate(made.descriptor(), 0, static_cast<off_t>(bytes));
  if (!error && fcntl(made.descriptor(), F_ADD_SEALS, kSeals))
    error = errno;
  if (error)
    return failure(kUserError, "cannot have a window of %zu bytes: %s", bytes, std::strerror(error));
  memory = std::move(made);
  return {};
}

Status Windows::map(int rank, int fd, size_t bytes, uint64_t file) {
  struct stat about;
  int seals = fcntl(fd, F_GET_SEALS); // -1 of any other file
  if (fstat(fd, &about) || static_cast<size_t>(about.st_size) != bytes || about.st_ino != file || seals < 0 ||
      (seals & kSeals) != kSeals)
    return failure(kUserError,
                   "what is found as the window of rank %d is another file; ranks of one host see each other's "
                   "processes under the same numbers",
                   rank);
  char *base = mapShared(fd, file, bytes);
  if (!base)
    return failure(kUserError, "cannot map the window of rank %d: %s", rank, std::strerror(errno));
  parts[static_cast<size_t>(rank)] = base;
  return {};
}

Status Windows::open(Group &ranks, size_t bytes) {
  close();
  struct Offer {
    int64_t process;
    int32_t fd, isMade;
    uint64_t bytes, file;
  };
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (bytes == 0 || bytes > SIZE_MAX / 2)
    return failure(kInternal, "a window of %zu bytes", bytes);
  bytes = (bytes + page - 1) / page * page;
  Socket memory;
  Status own = make(bytes, memory);
  struct stat about{};
  if (!own.failed())
    fstat(memory.descriptor(), &about);
  Offer mine{getpid(), memory.descriptor(), !own.failed(), bytes, about.st_ino};
  std::vector<Offer> all(static_cast<size_t>(ranks.ranks()));
  if (Status bad = ranks.gather(&mine, all.data(), sizeof mine); bad.failed())
    return bad;
  if (own.failed())
    return own;
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    const Offer &offer = all[static_cast<size_t>(rank)];
    if (!offer.isMade)
      return failure(kUserError, "rank %d cannot have a window of %zu bytes", rank, bytes);
    if (offer.bytes != bytes)
      return failure(kUserError, "rank %d wants a window of %llu bytes, rank %d one of %zu", rank,
                     static_cast<unsigned long long>(offer.bytes), ranks.rank(), bytes);
  }
  parts.assign(static_cast<size_t>(ranks.ranks()), nullptr);
  size = bytes;
  Status result;
  for (int rank = 0; rank < ranks.ranks() && !result.failed(); ++rank) {
    const Offer &offer = all[static_cast<size_t>(rank)];
    std::string path = format("/proc/%lld/fd/%d", static_cast<long long>(offer.process), offer.fd);
    Socket opened(rank == ranks.rank() ? -1 : ::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (rank != ranks.rank() && !opened.isOpen())
      result = failure(kUserError,
                       "cannot open the window of rank %d (%s): %s; ranks of one host run as one user and see each "
                       "other's processes",
                       rank, path.c_str(), std::strerror(errno));
    else
      result = map(rank, rank == ranks.rank() ? memory.descriptor() : opened.descriptor(), bytes, offer.file);
  }
  // Until all have opened it, the memory must have its descriptor.
  int32_t isFine = !result.failed();
  std::vector<int32_t> outcomes(static_cast<size_t>(ranks.ranks()));
  if (Status bad = ranks.gather(&isFine, outcomes.data(), sizeof isFine); bad.failed() && !result.failed())
    result = bad;
  for (int rank = 0; rank < ranks.ranks() && !result.failed(); ++rank)
    if (!outcomes[static_cast<size_t>(rank)])
      result = failure(kUserError, "rank %d cannot map the windows of the others", rank);
  if (result.failed())
    close();
  return result;
}

void Windows::close() {
  for (char *part : parts)
    if (part)
      unmapShared(part);
  parts.clear();
  size = 0;
}

} // namespace moert
