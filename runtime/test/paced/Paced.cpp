//===- Paced.cpp - programs whose ranks are joined by a link of a given rate and latency --------------------------===//
//
// Only for tests, on CPUs, with a process for each rank. moe_mlir/testing/paced.py has the text of a program at level
// runtime call these functions where the product's kernels store: for rows, for flags, and for the windows' addresses.
// MOE_PACED=BYTES_PER_SECOND:NANOSECONDS describes the link; with ":carry" bytes arrive with their flag and not before.
// MOE_PACED_REPORT=FILE: each rank adds a line with its boxes and their bytes when it ends.
//
// A run ends when all that this rank has sent has arrived: windows may be gone afterwards.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Courier.h"
#include "moert/moert.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

using moert::paced::Courier;
using moert::paced::Link;

namespace {

constexpr int kMostAxes = 4;

/// The windows of an axis, and where its peers have their boxes.
struct Axis {
  const moert_peers *peers;
  size_t bytes;
  int firstBox;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t handedOver, delivered;
Courier *courier = nullptr;
bool carries = false;
Axis axes[kMostAxes];
int axisCount = 0, boxCount = 0;

int64_t clockNow() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

void *carry(void *) {
  prctl(PR_SET_TIMERSLACK, 1ul); // else the system adds 50 us to each wait
  pthread_mutex_lock(&lock);
  for (;;) {
    int64_t next = courier->deliver(clockNow());
    if (next == Courier::kNever) {
      pthread_cond_broadcast(&delivered);
      pthread_cond_wait(&handedOver, &lock);
    } else {
      timespec until{static_cast<time_t>(next / 1000000000), static_cast<long>(next % 1000000000)};
      pthread_cond_timedwait(&handedOver, &lock, &until);
    }
  }
}

/// With the lock. In the process of a rank, when its first run asks for windows.
void start() {
  const char *text = std::getenv("MOE_PACED");
  char *end = nullptr;
  double rate = text ? std::strtod(text, &end) : 0;
  long long latency = rate > 0 && *end == ':' ? std::strtoll(end + 1, &end, 10) : -1;
  carries = latency >= 0 && std::strcmp(end, ":carry") == 0;
  if (latency < 0 || (*end && !carries)) {
    std::fprintf(stderr, "MOE_PACED is '%s'; BYTES_PER_SECOND:NANOSECONDS[:carry] is expected\n", text ? text : "");
    std::abort();
  }
  static char memory[sizeof(Courier)] __attribute__((aligned(16)));
  courier = ::new (static_cast<void *>(memory)) Courier(Link(rate, latency), carries);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&handedOver, &monotonic);
  pthread_cond_init(&delivered, nullptr);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, carry, nullptr))
    std::abort();
}

/// The box for an address in another rank's window; -1: it is this rank's own, or no window's.
int boxFor(const void *address) {
  auto *at = static_cast<const char *>(address);
  for (int a = 0; a < axisCount; ++a)
    for (int peer = 0; peer < axes[a].peers->ranks; ++peer) {
      const char *base = axes[a].peers->base[peer];
      if (at >= base && at < base + axes[a].bytes)
        return peer == axes[a].peers->rank ? -1 : axes[a].firstBox + peer;
    }
  return -1;
}

__attribute__((destructor)) void report() {
  const char *file = std::getenv("MOE_PACED_REPORT");
  int fd = file && courier ? open(file, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
  if (fd < 0)
    return;
  char line[64];
  int size = std::snprintf(line, sizeof line, "%llu %llu\n", static_cast<unsigned long long>(courier->boxes),
                           static_cast<unsigned long long>(courier->bytes));
  (void)!write(fd, line, static_cast<size_t>(size));
  close(fd);
}

} // namespace

extern "C" {

/// In place of the store that raises a flag.
void moert_paced_signal(uint32_t *flag, uint32_t epoch) {
  pthread_mutex_lock(&lock);
  int box = boxFor(flag);
  if (box < 0) {
    __atomic_store_n(flag, epoch, __ATOMIC_RELEASE);
  } else {
    courier->signal(box, flag, epoch, clockNow());
    pthread_cond_signal(&handedOver);
  }
  pthread_mutex_unlock(&lock);
}

/// In place of a copy of a row.
void moert_paced_put(void *to, const void *from, int64_t bytes) {
  pthread_mutex_lock(&lock);
  int box = boxFor(to);
  bool isLate = carries && box >= 0;
  if (isLate)
    courier->put(box, to, from, static_cast<size_t>(bytes));
  pthread_mutex_unlock(&lock);
  if (isLate)
    return;
  std::memcpy(to, from, static_cast<size_t>(bytes)); // threads copy at the same time
  pthread_mutex_lock(&lock);
  if (box >= 0)
    courier->put(box, to, from, static_cast<size_t>(bytes));
  pthread_mutex_unlock(&lock);
}

/// Before windows change, and at the end of a run.
void moert_paced_finish(void) {
  pthread_mutex_lock(&lock);
  while (courier && !courier->isEmpty())
    pthread_cond_wait(&delivered, &lock);
  pthread_mutex_unlock(&lock);
}

/// Behind moert_windows.
void moert_paced_windows(const moert_peers *peers, int64_t bytes) {
  pthread_mutex_lock(&lock);
  if (!courier)
    start();
  int a = 0;
  while (a < axisCount && axes[a].peers != peers)
    ++a;
  if (a == axisCount) {
    if (a == kMostAxes || boxCount + peers->ranks > Courier::kMostPeers)
      std::abort();
    axes[a] = {peers, 0, boxCount};
    boxCount += peers->ranks;
    ++axisCount;
  }
  // Windows only grow.
  if (axes[a].bytes < static_cast<size_t>(bytes))
    axes[a].bytes = static_cast<size_t>(bytes);
  pthread_mutex_unlock(&lock);
}

} // extern "C"
