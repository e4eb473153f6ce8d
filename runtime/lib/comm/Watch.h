//===- Watch.h - notices that another rank has ended --------------------------------------------------------------===//
//
// A thread sleeps until a process of the job ends, and then sets the abort word, by which all waits in kernels end. So
// a rank that was killed costs the others no deadline. Between its start and its stop no rank may leave the job.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_WATCH_H
#define MOERT_LIB_COMM_WATCH_H

#include "comm/Bootstrap.h"

#include <pthread.h>

namespace moert {

class Watch {
public:
  Watch() = default;
  Watch(const Watch &) = delete;
  Watch &operator=(const Watch &) = delete;
  ~Watch() { stop(); }

  /// All ranks call it, on one host. `abort` becomes the number of the first rank that ends, plus one.
  Status start(Bootstrap &ranks, uint32_t *abort);
  void stop();

private:
  /// Watches the processes of the ranks, by rank.
  Status begin(int own, const std::vector<int64_t> &all);
  static void *main(void *watch);

  std::vector<Socket> processes; ///< by rank; none for this process
  Socket wake;                   ///< readable when the thread shall end
  uint32_t *abort = nullptr;
  pthread_t thread;
  bool isRunning = false;
};

} // namespace moert

#endif // MOERT_LIB_COMM_WATCH_H
