//===- FakeNccl.cpp - NCCL between emulated GPUs ------------------------------------------------------------------===//
//
// The functions that the runtime calls, as they behave without blocking, for ranks that are processes of one host.
// Ranks meet in shared memory; windows are blocks of the emulated GPU, which the executable gives (EmulatedCuda.cpp, or
// NcclCaptureTest.cpp, whose streams are captured).
// Faults are planted by $FAKE_NCCL, words apart by blanks:
//
//   version=N        says that it is of that version; version=N@R on rank R alone ($MOE_RANK)
//   lsa=N            stores reach N ranks of an axis that follow each other
//   node=N           stores reach the ranks of a node, which has N that follow each other in the job
//   silent=R         rank R does not come to the first meeting
//   unusable         windows are registered, and no kernel can use them
//   refuses          communicators cannot be made
//   late=R           rank R finds an error when all is there
//   stalls=R         rank R does not come to exchanges
//   breaks=R         rank R finds an error in an exchange
//   lags=R           rank R goes on with its exchanges a second after the others
//
//===--------------------------------------------------------------------------------------------------------------===//

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

extern "C" {
int moe_emulated_allocate(void **base, size_t bytes);
int moe_emulated_free(void *base);
int moe_emulated_offer(void *base, char *handle);
int moe_emulated_map(const char *handle, void **base);
int moe_emulated_unmap(void *base);
int moe_emulated_find(const void *place, char *handle, uint64_t *before);
int moe_emulated_note(void (*work)(void *), void *what);
}

namespace {

enum Result {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7
};
constexpr int kMostRanks = 16;

/// One of a group of sums.
struct Sum {
  uint64_t from, count; ///< place in the block of what is added up, the same on all ranks; in words of 8 bytes
  int64_t root;
};
constexpr size_t kMostSums = 256;

/// What a rank brings to a meeting: a block, and a group of sums of what is in there.
struct Offer {
  char handle[64];
  uint64_t sumCount;
  Sum sums[kMostSums];
};

/// What ranks share. Each writes its own place, and `seen` says how many meetings it has come to.
struct Meeting {
  struct Place {
    std::atomic<uint32_t> seen;
    int inJob; ///< its number there
    Offer offer;
  } places[kMostRanks];
};

struct Id {
  int64_t process, file;
  char rest[112];
};

struct Comm;
struct Window {
  Comm *comm;
  void *parts[kMostRanks];
};

struct Comm {
  Meeting *meeting = nullptr;
  int ranks = 0, rank = 0;
  uint32_t meetings = 0;       // that this rank has begun
  void *registering = nullptr; // memory for which a window is wanted, and where that is to be stored
  void **window = nullptr;

  /// A group of sums: its ranks meet when it begins, and when all have read.
  enum { kNone, kBegun, kRead } state = kNone;
  std::vector<char *> results; ///< where those of this rank go
  std::vector<std::vector<uint64_t>> totals;
};
Comm *grouped = nullptr; // whose sums are being gathered
bool isGroup = false;

int ownRank() {
  const char *rank = std::getenv("MOE_RANK");
  return rank ? std::atoi(rank) : 0;
}

/// The value of a word of $FAKE_NCCL, -1 if it is not there; a word without one is 0.
int fault(const std::string &name) {
  const char *text = std::getenv("FAKE_NCCL");
  std::string words = std::string(" ") + (text ? text : "") + " ";
  size_t at = words.find(" " + name);
  return at == std::string::npos ? -1 : std::atoi(words.c_str() + at + 1 + name.size() + 1);
}

/// Comes to the next meeting; to be asked for its end.
void arrive(Comm &comm) { comm.meeting->places[comm.rank].seen = ++comm.meetings; }
bool haveMet(const Comm &comm) {
  for (int rank = 0; rank < comm.ranks; ++rank)
    if (comm.meeting->places[rank].seen < comm.meetings)
      return false;
  return true;
}

int finishWindow(Comm &comm) {
  auto *made = new Window{&comm, {}};
  for (int rank = 0; rank < comm.ranks; ++rank)
    if (rank == comm.rank)
      made->parts[rank] = comm.registering;
    else if (moe_emulated_map(comm.meeting->places[rank].offer.handle, &made->parts[rank]))
      return kUnhandledCudaError;
  *comm.window = made;
  comm.registering = nullptr;
  return kSuccess;
}

/// Adds up what this rank is the root of.
int addUp(Comm &comm) {
  const Offer &own = comm.meeting->places[comm.rank].offer;
  comm.totals.clear();
  for (int rank = 0; rank < comm.ranks; ++rank) {
    const Offer &other = comm.meeting->places[rank].offer;
    if (other.sumCount != own.sumCount || std::memcmp(other.sums, own.sums, own.sumCount * sizeof(Sum)))
      return kInvalidArgument; // ranks that have not asked for the same
    uint64_t before = 0;
    char handle[64];
    void *block = nullptr;
    const bool isOwn = rank == comm.rank;
    if (isOwn && !comm.results.empty()) {
      if (moe_emulated_find(comm.results[0], handle, &before))
        return kUnhandledCudaError;
      block = comm.results[0] - before;
    } else if (!isOwn && moe_emulated_map(other.handle, &block)) {
      return kUnhandledCudaError;
    }
    size_t number = 0;
    for (size_t i = 0; i < own.sumCount; ++i) {
      const Sum &sum = own.sums[i];
      if (sum.root != comm.rank)
        continue;
      comm.totals.resize(std::max(comm.totals.size(), number + 1));
      std::vector<uint64_t> &total = comm.totals[number++];
      total.resize(sum.count);
      const auto *from = reinterpret_cast<const uint64_t *>(static_cast<char *>(block) + sum.from);
      for (uint64_t word = 0; word < sum.count; ++word)
        total[word] += from[word];
    }
    if (!isOwn)
      (void)moe_emulated_unmap(block);
  }
  return kSuccess;
}

/// Behind a meeting: the next step of a group of sums.
int advance(Comm &comm) {
  if (comm.state == Comm::kBegun) {
    if (fault("breaks") == ownRank())
      return kRemoteError;
    if (fault("lags") == ownRank())
      sleep(1);
    if (int bad = addUp(comm))
      return bad;
    comm.state = Comm::kRead;
    arrive(comm);
    return kInProgress;
  }
  for (size_t i = 0; i < comm.results.size(); ++i)
    std::memcpy(comm.results[i], comm.totals[i].data(), comm.totals[i].size() * sizeof(uint64_t));
  comm.state = Comm::kNone;
  return kSuccess;
}

/// A group of sums that a graph has: as it was asked for, done whenever the graph runs.
struct Captured {
  Comm *comm;
  Offer offer;
  std::vector<char *> results;
};

void runCaptured(void *what) {
  const auto &group = *static_cast<const Captured *>(what);
  Comm &comm = *group.comm;
  comm.meeting->places[comm.rank].offer = group.offer;
  comm.results = group.results;
  comm.state = Comm::kBegun;
  arrive(comm);
  int result = kInProgress;
  for (int polls = 0; result == kInProgress && polls < 1000000; ++polls, usleep(20))
    if (haveMet(comm))
      result = advance(comm);
  if (result != kSuccess)
    std::abort(); // ranks do not all run their graphs, or these are not alike
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int ncclGetVersion(int *version) {
  *version = 22907;
  const char *text = std::getenv("FAKE_NCCL");
  const char *at = text ? std::strchr(text, '@') : nullptr;
  if (int said = fault("version"); said > 0 && (!at || std::atoi(at + 1) == ownRank()))
    *version = said;
  return kSuccess;
}

EXPORT const char *ncclGetErrorString(int result) {
  return result == kInvalidUsage ? "invalid usage" : result == kRemoteError ? "remote process exited" : "an error";
}
EXPORT const char *ncclGetLastError(void *) { return "as the test wants it"; }

EXPORT int ncclGetUniqueId(Id *id) {
  std::memset(id, 0, sizeof *id);
  const int file = memfd_create("fake-nccl", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(Meeting)))
    return kUnhandledCudaError;
  id->process = getpid();
  id->file = file;
  return kSuccess;
}

EXPORT int ncclCommInitRankConfig(void **comm, int ranks, Id id, int rank, const int *config) {
  // Whoever blocks cannot be stopped; the flag stands behind size, magic and version.
  if (fault("refuses") >= 0 || ranks > kMostRanks || config[4] != 0)
    return kInvalidUsage;
  const std::string path = "/proc/" + std::to_string(id.process) + "/fd/" + std::to_string(id.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  void *shared = file < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0)
    close(file);
  if (shared == MAP_FAILED)
    return kUnhandledCudaError;
  auto *made = new Comm;
  made->meeting = static_cast<Meeting *>(shared);
  made->ranks = ranks;
  made->rank = rank;
  made->meeting->places[rank].inJob = ownRank();
  *comm = made;
  if (fault("silent") == ownRank())
    ++made->meetings;
  else
    arrive(*made);
  return kInProgress;
}

EXPORT int ncclCommGetAsyncError(Comm *comm, int *result) {
  *result = haveMet(*comm) ? kSuccess : kInProgress;
  if (*result == kSuccess && comm->registering)
    *result = finishWindow(*comm);
  else if (*result == kSuccess && comm->state != Comm::kNone)
    *result = advance(*comm);
  else if (*result == kSuccess && comm->window && fault("late") == ownRank())
    *result = kRemoteError;
  return kSuccess;
}

EXPORT int ncclCommAbort(Comm *comm) {
  munmap(comm->meeting, sizeof(Meeting));
  delete comm;
  return kSuccess;
}

EXPORT int ncclMemAlloc(void **base, size_t bytes) {
  return moe_emulated_allocate(base, bytes) ? kUnhandledCudaError : kSuccess;
}
EXPORT int ncclMemFree(void *base) { return moe_emulated_free(base) ? kUnhandledCudaError : kSuccess; }

EXPORT int ncclCommWindowRegister(Comm *comm, void *base, size_t bytes, void **window, int flags) {
  if (flags != 1 || bytes % 4096 || reinterpret_cast<uintptr_t>(base) % 4096)
    return kInvalidArgument;
  if (moe_emulated_offer(base, comm->meeting->places[comm->rank].offer.handle))
    return kUnhandledCudaError;
  comm->registering = base;
  comm->window = window;
  arrive(*comm);
  return kInProgress;
}

EXPORT int ncclCommWindowDeregister(Comm *comm, Window *window) {
  for (int rank = 0; rank < comm->ranks; ++rank)
    if (rank != comm->rank)
      (void)moe_emulated_unmap(window->parts[rank]);
  delete window;
  comm->window = nullptr;
  arrive(*comm);
  return kInProgress;
}

struct Team {
  int ranks, rank, stride;
};
EXPORT Team ncclTeamLsa(Comm *comm) {
  if (const int each = fault("node"); each > 0) {
    const Meeting::Place *places = comm->meeting->places;
    const int node = places[comm->rank].inJob / each;
    auto isHere = [&](const Meeting::Place &place) { return place.inJob / each == node; };
    return {static_cast<int>(std::count_if(places, places + comm->ranks, isHere)),
            static_cast<int>(std::count_if(places, places + comm->rank, isHere)), 1};
  }
  const int most = fault("lsa");
  return most > 0 && most < comm->ranks ? Team{most, comm->rank % most, 1} : Team{comm->ranks, comm->rank, 1};
}

EXPORT int ncclGetLsaDevicePointer(Window *window, size_t offset, int rank, void **there) {
  if (rank < 0 || rank >= ncclTeamLsa(window->comm).ranks || fault("unusable") >= 0)
    return kInvalidArgument;
  *there = static_cast<char *>(window->parts[rank]) + offset;
  return kSuccess;
}

EXPORT int ncclGroupStart() {
  isGroup = true;
  grouped = nullptr;
  return kSuccess;
}

/// In its place, of integers of 8 bytes, in a group whose memory is one block: all that the runtime asks for.
EXPORT int ncclReduce(const void *from, void *to, size_t count, int type, int operation, int root, Comm *comm, void *) {
  if (!isGroup || from != to || type != 5 || operation != 0 || (grouped && grouped != comm))
    return kInvalidArgument;
  Offer &own = comm->meeting->places[comm->rank].offer;
  if (!grouped) {
    own.sumCount = 0;
    comm->results.clear();
  }
  grouped = comm;
  Sum sum{0, count, root};
  if (own.sumCount == kMostSums || root < 0 || root >= comm->ranks ||
      moe_emulated_find(from, own.handle, &sum.from))
    return kInvalidArgument;
  own.sums[own.sumCount++] = sum;
  if (root == comm->rank)
    comm->results.push_back(static_cast<char *>(to));
  return kSuccess;
}

EXPORT int ncclGroupEnd() {
  isGroup = false;
  if (!grouped)
    return kSuccess;
  auto *captured = new Captured{grouped, grouped->meeting->places[grouped->rank].offer, grouped->results};
  if (moe_emulated_note(runCaptured, captured))
    return kInProgress; // that is, until it is asked
  delete captured;
  grouped->state = Comm::kBegun;
  if (fault("stalls") == ownRank())
    ++grouped->meetings;
  else
    arrive(*grouped);
  return kInProgress;
}
