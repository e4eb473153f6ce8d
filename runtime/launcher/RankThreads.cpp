//===- RankThreads.cpp - the ranks of a job as threads of this process --------------------------------------------===//

#include "RankThreads.h"

#include "Console.h"
#include "RankErrors.h"
#include "comm/Socket.h"
#include "core/FaultSignals.h"
#include "core/OutputFile.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <pthread.h>
#include <unistd.h>
#include <vector>

namespace moert {

namespace {

class RankThreads {
public:
  RankThreads(const RankJob &job, RankBody body, void *what)
      : count(job.count), job(job), errors(job.count, job.executable), body(body), what(what), ranks(new Rank[job.count]()) {}

  Status run();
  /// A thread that copies the standard input may outlive the job, in a read that nobody ends.
  void release() {
    if (__atomic_sub_fetch(&owners, 1, __ATOMIC_ACQ_REL) == 0)
      delete this;
  }

private:
  ~RankThreads() = default;
  struct Rank {
    RankThreads *job = nullptr;
    int number = 0;
    pthread_t thread;
    Socket inputRead, inputWrite;
    bool isStarted = false, isDone = false;
  };

  static void *main(void *rank);
  static void *copyInput(void *job);
  Status start(Rank &rank);
  Status startInput();
  void finish(Rank &rank, Status status);
  void follow();

  const int count;    // `job` is gone before the thread of the standard input
  const RankJob &job;
  RankErrors errors;
  RankBody body;
  void *what;
  std::unique_ptr<Rank[]> ranks;

  int owners = 1;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t someEnded = PTHREAD_COND_INITIALIZER;
  Status outcome; // of the rank that failed first
  int running = 0;
  int64_t limit = 0; // when the process ends, whoever still runs; 0: none
};

/// Signals are the first rank's: it may hold them while it writes files. Threads start with none.
class WithoutSignals {
public:
  WithoutSignals() {
    const sigset_t all = allButFaults();
    pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  const sigset_t &outside() const { return before; }

private:
  sigset_t before;
};

sigset_t firstRanksSignals;

} // namespace

void RankThreads::finish(Rank &rank, Status status) {
  pthread_mutex_lock(&lock);
  rank.isDone = true;
  --running;
  if (status.failed() && !status.message.empty()) {
    std::string line = job.executable + ": error: " + status.message + "\n";
    errors.add(rank.number, line.data(), line.size());
  }
  bool isFirst = status.failed() && !outcome.failed();
  if (isFirst)
    outcome = std::move(status);
  // As with processes: the others have a second to find out, or as long as they would have waited for the first one.
  if (isFirst)
    limit = now() + kRanksGrace;
  else if (rank.number == 0 && !limit)
    limit = now() + job.patience * 1000000;
  pthread_cond_signal(&someEnded);
  pthread_mutex_unlock(&lock);
}

void *RankThreads::main(void *argument) {
  Rank &rank = *static_cast<Rank *>(argument);
  RankThreads &threads = *rank.job;
  if (rank.number == 0)
    pthread_sigmask(SIG_SETMASK, &firstRanksSignals, nullptr);
  setUpThread(rank.inputRead.isOpen() ? rank.inputRead.descriptor() : 0, /*isHeard=*/rank.number == 0);
  Status status = threads.body(threads.what, rank.number);
  rank.inputRead.close(); // nobody waits to write there
  threads.finish(rank, std::move(status));
  return nullptr;
}

/// Each rank reads the standard input at its own pace: who waits for another one has its pipe filled later.
void *RankThreads::copyInput(void *argument) {
  RankThreads &threads = *static_cast<RankThreads *>(argument);
  std::vector<char> piece(size_t(1) << 16); // not on a stack, which may be small
  for (ssize_t got; (got = read(0, piece.data(), piece.size())) != 0;) {
    if (got < 0 && !mayGoOn(0, errno))
      break;
    for (int r = 0; got > 0 && r < threads.count; ++r) {
      Socket &to = threads.ranks[r].inputWrite;
      if (to.isOpen() && writeAll(to.descriptor(), piece.data(), static_cast<size_t>(got)))
        to.close();
    }
  }
  for (int r = 0; r < threads.count; ++r)
    threads.ranks[r].inputWrite.close();
  threads.release();
  return nullptr;
}

Status RankThreads::startInput() {
  for (int r = 0; r < job.count; ++r) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
      return failure(kUserError, "cannot start rank %d: %s", r, std::strerror(errno));
    ranks[r].inputRead = Socket(ends[0]);
    ranks[r].inputWrite = Socket(ends[1]);
  }
  ++owners;
  pthread_t thread;
  if (int error = pthread_create(&thread, nullptr, copyInput, this)) {
    --owners;
    return failure(kUserError, "cannot start a thread: %s", std::strerror(error));
  }
  pthread_detach(thread);
  return {};
}

Status RankThreads::start(Rank &rank) {
  rank.job = this;
  ++running;
  if (int error = pthread_create(&rank.thread, nullptr, main, &rank)) {
    --running;
    return failure(kUserError, "cannot start rank %d: %s", rank.number, std::strerror(error));
  }
  rank.isStarted = true;
  return {};
}

/// Waits for the ranks. Those that are late cannot be ended alone.
void RankThreads::follow() {
  while (running) {
    if (!limit) {
      pthread_cond_wait(&someEnded, &lock);
      continue;
    }
    int64_t left = limit - now();
    if (left <= 0)
      break;
    timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    left = left < 100000000 ? left : 100000000; // this clock may jump
    until.tv_sec += (until.tv_nsec + left) / 1000000000;
    until.tv_nsec = (until.tv_nsec + left) % 1000000000;
    pthread_cond_timedwait(&someEnded, &lock, &until);
  }
}

Status RankThreads::run() {
  WithoutSignals threadsStartWithout;
  firstRanksSignals = threadsStartWithout.outside();
  Status status = job.readsInput ? startInput() : Status();
  pthread_mutex_lock(&lock);
  for (int r = 0; r < job.count && !status.failed(); ++r) {
    ranks[r].number = r;
    status = start(ranks[r]);
  }
  if (status.failed()) {
    outcome = status;
    limit = now() + kRanksGrace;
  }
  follow();
  bool areLate = running > 0;
  for (int r = 0; r < job.count && !outcome.failed(); ++r)
    if (!ranks[r].isDone)
      outcome = failure(kUserError, "rank %d did not end within %g s after others", r,
                        static_cast<double>(job.patience) / 1e3);
  errors.report();
  if (errors.hasFailure())
    outcome.message.clear();
  if (areLate) {
    if (!outcome.message.empty())
      complain("%s: error: %s", job.executable.c_str(), outcome.message.c_str());
    _exit(outcome.code);
  }
  pthread_mutex_unlock(&lock);
  for (int r = 0; r < job.count; ++r)
    if (ranks[r].isStarted)
      pthread_join(ranks[r].thread, nullptr);
  return outcome;
}

Status runRankThreads(const RankJob &job, RankBody body, void *what) {
  auto *threads = new RankThreads(job, body, what);
  Status outcome = threads->run();
  threads->release();
  return outcome;
}

} // namespace moert
