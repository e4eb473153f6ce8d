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

/// How the others find a window.
struct Windows::Offer {
  int64_t process;
  int32_t fd, isMade;
  uint64_t bytes, file; ///< file: its number; of Local, the address
};

static Status cannotHave(size_t bytes, int error) {
  return failure(kUserError, "cannot have a window of %zu bytes: %s", bytes, std::strerror(error));
}

Status Windows::make(int own, size_t bytes, Socket &memory, Offer &offer) {
  offer = {getpid(), -1, 0, bytes, 0};
  char *&base = parts[static_cast<size_t>(own)];
  if (provider == Provider::Local) {
    base = mapLocal(bytes);
    offer.file = reinterpret_cast<uintptr_t>(base);
    offer.isMade = base != nullptr;
    return base ? Status() : cannotHave(bytes, errno);
  }
  memory = Socket(memfd_create("moe-window", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Memory is taken now: a store into a page that cannot be had would end the process.
  int error = !memory.isOpen() || ftruncate(memory.descriptor(), static_cast<off_t>(bytes)) ? errno : 0;
  if (!error)
    error = posix_fallocate(memory.descriptor(), 0, static_cast<off_t>(bytes));
  struct stat about{};
  if (!error && (fcntl(memory.descriptor(), F_ADD_SEALS, kSeals) || fstat(memory.descriptor(), &about)))
    error = errno;
  if (!error && !(base = mapShared(memory.descriptor(), about.st_ino, bytes)))
    error = errno;
  if (error)
    return cannotHave(bytes, error);
  offer.fd = memory.descriptor();
  offer.file = about.st_ino;
  offer.isMade = 1;
  return {};
}

Status Windows::take(int rank, size_t bytes, const Offer &offer) {
  char *&base = parts[static_cast<size_t>(rank)];
  if (isMirror(rank))
    return mirror(rank, bytes);
  if (provider == Provider::Local) {
    auto *there = reinterpret_cast<char *>(static_cast<uintptr_t>(offer.file));
    base = shareLocal(there) ? there : nullptr;
    return base ? Status() : failure(kUserError, "rank %d has given its window up", rank);
  }
  std::string path = format("/proc/%lld/fd/%d", static_cast<long long>(offer.process), offer.fd);
  Socket opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened.isOpen())
    return failure(kUserError,
                   "cannot open the window of rank %d (%s): %s; ranks of one host run as one user and see each "
                   "other's processes",
                   rank, path.c_str(), std::strerror(errno));
  struct stat about;
  int seals = fcntl(opened.descriptor(), F_GET_SEALS); // -1 of any other file
  if (fstat(opened.descriptor(), &about) || static_cast<size_t>(about.st_size) != bytes ||
      about.st_ino != offer.file || seals < 0 || (seals & kSeals) != kSeals)
    return failure(kUserError,
                   "what is found as the window of rank %d is another file; ranks of one host see each other's "
                   "processes under the same numbers",
                   rank);
  base = mapShared(opened.descriptor(), offer.file, bytes);
  return base ? Status()
              : failure(kUserError, "cannot map the window of rank %d: %s", rank, std::strerror(errno));
}

Status Windows::exchange(Group &ranks, size_t bytes) {
  Socket memory;
  Offer mine;
  Status made = make(ranks.rank(), bytes, memory, mine);
  if (link && !made.failed())
    link->landing().open(number, ++opening, parts[static_cast<size_t>(ranks.rank())],
                         isShown ? parts.data() : nullptr, bytes);
  std::vector<Offer> all(static_cast<size_t>(ranks.ranks()));
  if (Status bad = ranks.gather(&mine, all.data(), sizeof mine); bad.failed())
    return bad;
  if (made.failed())
    return made;
  for (int rank = 0; rank < ranks.ranks(); ++rank) {
    const Offer &offer = all[static_cast<size_t>(rank)];
    if (!offer.isMade)
      return failure(kUserError, "rank %d cannot have a window of %zu bytes", rank, bytes);
    if (offer.bytes != bytes)
      return failure(kUserError, "rank %d wants a window of %llu bytes, rank %d one of %zu", rank,
                     static_cast<unsigned long long>(offer.bytes), ranks.rank(), bytes);
  }
  Status result;
  for (int rank = 0; rank < ranks.ranks() && !result.failed(); ++rank)
    if (rank != ranks.rank())
      result = take(rank, bytes, all[static_cast<size_t>(rank)]);
  // Until all have taken it, the memory must have its descriptor.
  int32_t isFine = !result.failed();
  std::vector<int32_t> outcomes(static_cast<size_t>(ranks.ranks()));
  if (Status bad = ranks.gather(&isFine, outcomes.data(), sizeof isFine); bad.failed() && !result.failed())
    result = bad;
  for (int rank = 0; rank < ranks.ranks() && !result.failed(); ++rank)
    if (!outcomes[static_cast<size_t>(rank)])
      result = failure(kUserError, "rank %d cannot map the windows of the others", rank);
  return result;
}

Status Windows::open(Group &ranks, size_t bytes) {
  if (Status bad = finishSending(); bad.failed())
    return bad;
  close();
  own = ranks.rank();
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (bytes == 0 || bytes > SIZE_MAX / 2)
    return failure(kInternal, "a window of %zu bytes", bytes);
  size = (bytes + page - 1) / page * page;
  parts.assign(static_cast<size_t>(ranks.ranks()), nullptr);
  Status result = exchange(ranks, size);
  if (result.failed())
    close();
  return result;
}

void Windows::close() {
  if (link)
    link->landing().close(number);
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    if (!parts[rank])
      continue;
    if (isMirror(static_cast<int>(rank)))
      munmap(parts[rank], size);
    else
      unmapShared(parts[rank]);
  }
  parts.clear();
  size = 0;
}

} // namespace moert
