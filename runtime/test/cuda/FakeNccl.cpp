//===- FakeNccl.cpp - NCCL between emulated GPUs ------------------------------------------------------------------===//
//
// The functions that the runtime calls, as they behave without blocking, for ranks that are processes of one host.
// Ranks meet in shared memory; windows are blocks of the emulated GPU, which the executable gives (EmulatedCuda.cpp).
// Faults are planted by $FAKE_NCCL, words apart by blanks:
//
//   version=N        says that it is of that version; version=N@R on rank R alone ($MOE_RANK)
//   silent=R         rank R does not come to the first meeting
//   unusable         windows are registered, and no kernel can use them
//   refuses          communicators cannot be made
//   late=R           rank R finds an error when all is there
//
//===--------------------------------------------------------------------------------------------------------------===//

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

extern "C" {
int moe_emulated_allocate(void **base, size_t bytes);
int moe_emulated_free(void *base);
int moe_emulated_offer(void *base, char *handle);
int moe_emulated_map(const char *handle, void **base);
int moe_emulated_unmap(void *base);
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

/// What ranks share. Each writes its own place, and `seen` says how many meetings it has come to.
struct Meeting {
  struct Place {
    std::atomic<uint32_t> seen;
    char handle[64];
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
  Meeting *meeting;
  int ranks, rank;
  uint32_t meetings = 0;       // that this rank has begun
  void *registering = nullptr; // memory for which a window is wanted, and where that is to be stored
  void **window = nullptr;
};

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
    else if (moe_emulated_map(comm.meeting->places[rank].handle, &made->parts[rank]))
      return kUnhandledCudaError;
  *comm.window = made;
  comm.registering = nullptr;
  return kSuccess;
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
  auto *made = new Comm{static_cast<Meeting *>(shared), ranks, rank};
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
  if (moe_emulated_offer(base, comm->meeting->places[comm->rank].handle))
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

EXPORT int ncclGetLsaDevicePointer(Window *window, size_t offset, int rank, void **there) {
  if (rank < 0 || rank >= window->comm->ranks || fault("unusable") >= 0)
    return kInvalidArgument;
  *there = static_cast<char *>(window->parts[rank]) + offset;
  return kSuccess;
}
