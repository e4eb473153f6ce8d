//===- Watch.cpp - notices that another rank has ended ------------------------------------------------------------===//

#include "comm/Watch.h"

#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace moert {

/// A descriptor that becomes readable when the process ends (Linux 5.3).
static int openProcess(int64_t process) { return static_cast<int>(syscall(SYS_pidfd_open, process, 0)); }

Status Watch::begin(int own, const std::vector<int64_t> &all) {
  processes.resize(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (static_cast<int>(rank) == own || all[rank] == all[static_cast<size_t>(own)]) // ranks may be threads
      continue;
    processes[rank] = Socket(openProcess(all[rank]));
    if (!processes[rank].isOpen())
      return failure(kUserError, "cannot watch rank %zu (process %lld): %s", rank, static_cast<long long>(all[rank]),
                     std::strerror(errno));
  }
  wake = Socket(eventfd(0, EFD_CLOEXEC));
  if (!wake.isOpen())
    return failure(kUserError, "cannot open an eventfd: %s", std::strerror(errno));
  ready.assign(1, {wake.descriptor(), POLLIN, 0});
  for (const Socket &process : processes)
    ready.push_back({process.descriptor(), POLLIN, 0}); // those below 0 are left out by poll
  if (int error = pthread_create(&thread, nullptr, main, this))
    return failure(kUserError, "cannot start a thread: %s", std::strerror(error));
  isRunning = true;
  return {};
}

Status Watch::start(Group &ranks, uint32_t *word, std::vector<const uint32_t *> words, const Hosts &hosts) {
  stop();
  abort = word;
  goodbyes = std::move(words);
  int64_t mine = getpid();
  std::vector<int64_t> all(static_cast<size_t>(ranks.ranks()));
  if (Status bad = ranks.gather(&mine, all.data(), sizeof mine); bad.failed())
    return bad;
  for (int rank = 0; rank < ranks.ranks(); ++rank)
    if (hosts.isFar(rank))
      all[static_cast<size_t>(rank)] = mine; // a number of another host
  // Who ends before it is watched is missing in the next exchange.
  Status own = begin(ranks.rank(), all);
  int32_t isFine = !own.failed();
  std::vector<int32_t> outcomes(all.size());
  Status result = ranks.gather(&isFine, outcomes.data(), sizeof isFine);
  for (size_t rank = 0; rank < outcomes.size() && !result.failed(); ++rank)
    if (!outcomes[rank])
      result = own.failed() ? own : failure(kUserError, "rank %zu cannot watch the others", rank);
  if (result.failed())
    stop();
  return result;
}

void Watch::stop() {
  if (isRunning) {
    uint64_t one = 1;
    (void)!write(wake.descriptor(), &one, sizeof one);
    pthread_join(thread, nullptr);
  }
  isRunning = false;
  processes.clear();
  wake.close();
}

void *Watch::main(void *argument) {
  Watch &watch = *static_cast<Watch *>(argument);
  std::vector<pollfd> &ready = watch.ready;
  while (!ready[0].revents) {
    if (poll(ready.data(), ready.size(), -1) < 0)
      continue;
    for (size_t i = 1; i < ready.size(); ++i) {
      if (!ready[i].revents)
        continue;
      ready[i] = {-1, 0, 0};
      uint32_t none = 0;
      if (watch.goodbyes.empty() || !__atomic_load_n(watch.goodbyes[i - 1], __ATOMIC_ACQUIRE))
        __atomic_compare_exchange_n(watch.abort, &none, static_cast<uint32_t>(i), false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
    }
  }
  return nullptr;
}

} // namespace moert
