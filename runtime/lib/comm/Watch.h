//===- Watch.h - notices that another rank has ended --------------------------------------------------------------===//
//
// A thread sleeps until a process of the job ends, and then sets the abort word, by which all waits in kernels end. So
// a rank that was killed costs the others no deadline. A rank that leaves the job says so before its process ends.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_WATCH_H
#define MOERT_LIB_COMM_WATCH_H

#include "comm/Group.h"
#include "comm/Hosts.h"
#include "comm/Socket.h"

#include <poll.h>
#include <pthread.h>
#include <vector>

namespace moert {

class Watch {
public:
  Watch() = default;
  Watch(const Watch &) = delete;
  Watch &operator=(const Watch &) = delete;
  ~Watch() { stop(); }

  /// All ranks call it; those of other hosts are not watched (Link.h has news of them). `abort`, if it is 0, becomes
  /// the number of a rank that ends, plus one. `goodbyes` are words by rank; who has set its own ends as it should.
  /// Without them nobody should.
  Status start(Group &ranks, uint32_t *abort, std::vector<const uint32_t *> goodbyes = {},
               const Hosts &hosts = Hosts());
  void stop();

private:
  /// Watches the processes of the ranks, by rank.
  Status begin(int own, const std::vector<int64_t> &all);
  static void *main(void *watch);

  std::vector<Socket> processes; ///< by rank; none for this process
  Socket wake;                   ///< readable when the thread shall end
  std::vector<pollfd> ready; ///< the wake, and then the processes
  uint32_t *abort = nullptr;
  std::vector<const uint32_t *> goodbyes;
  pthread_t thread;
  bool isRunning = false;
};

} // namespace moert

#endif // MOERT_LIB_COMM_WATCH_H
