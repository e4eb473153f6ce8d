//===- RankProcesses.cpp - the processes of a job's ranks ---------------------------------------------------------===//

#include "RankProcesses.h"

#include "Console.h"
#include "RankErrors.h"
#include "comm/Ranks.h"
#include "comm/Socket.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace moert {

namespace {

/// So much input waits for the rank that is slowest to read it.
constexpr size_t kMostInput = size_t(1) << 20;

class RankProcesses {
public:
  explicit RankProcesses(const RankJob &job)
      : job(job), errors(job.count, job.executable, job.first), ranks(static_cast<size_t>(job.count)) {}

  Status run(bool &isOver);

private:
  struct Rank {
    pid_t process = -1; // -1: has ended, or was not started
    bool isStopped = false;
    Socket input, output; // of this process: what the rank reads, and its standard error
    std::string waiting;  // input that the rank has not taken
  };

  void holdSignals();
  Status open(const std::string &root, int rank, const Socket &listening, bool &isRank);
  Status becomeRank(const std::string &root, int rank, const Socket &listening, Socket input, Socket output);
  void follow();
  void takeSignals();
  void takeInput();
  void giveInput(Rank &rank);
  void takeErrors(size_t index);
  void reap();
  void limitTime();
  void killAll(int signal);
  bool areRunning() const;

  const RankJob &job;
  RankErrors errors;
  std::vector<Rank> ranks;
  sigset_t before;
  Socket signals;
  bool hasInput = false;
  std::vector<char> piece = std::vector<char>(size_t(1) << 16); // of it; the stack may be small
  Status outcome;       // of the rank that failed first
  int ending = 0;       // the signal that ends the job
  bool someEnded = false;
  Deadline limit{0};    // when what still runs is killed
  bool isLimited = false, isLate = false;
};

} // namespace

bool RankProcesses::areRunning() const {
  for (const Rank &rank : ranks)
    if (rank.process >= 0 || rank.output.isOpen())
      return true;
  return false;
}

void RankProcesses::killAll(int signal) {
  for (const Rank &rank : ranks)
    if (rank.process >= 0)
      kill(rank.process, signal);
}

/// From here on signals are read, not delivered. What is ignored stays ignored.
void RankProcesses::holdSignals() {
  sigset_t held;
  sigemptyset(&held);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    sigaddset(&held, signal);
  sigprocmask(SIG_BLOCK, &held, &before);
  signals = Socket(signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK));
}

/// In the process of a rank: its streams, its place in the job, and nothing of its parent's.
Status RankProcesses::becomeRank(const std::string &root, int rank, const Socket &listening, Socket input,
                                 Socket output) {
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int in = input.isOpen() ? input.descriptor() : ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (dup2(in, 0) < 0 || dup2(output.descriptor(), 2) < 0)
    return failure(kUserError, "cannot give rank %d its streams: %s", rank, std::strerror(errno));
  if (!input.isOpen())
    ::close(in);
  ranks.clear();
  signals.close();
  setenv("MOE_RANK", std::to_string(rank).c_str(), 1);
  setenv("MOE_RANKS", std::to_string(job.total).c_str(), 1);
  if (!job.hostName.empty())
    setenv("MOE_HOST_NAME", job.hostName.c_str(), 1);
  if (!job.interface.empty())
    setenv("MOE_INTERFACE", job.interface.c_str(), 1);
  setenv("MOE_ROOT", root.c_str(), 1);
  setenv("MOE_TOKEN", job.token.c_str(), 1);
  if (rank == 0)
    setenv("MOE_LISTEN", std::to_string(dup(listening.descriptor())).c_str(), 1);
  return {};
}

Status RankProcesses::open(const std::string &root, int index, const Socket &listening, bool &isRank) {
  int input[2] = {-1, -1}, output[2] = {-1, -1};
  int error = (job.readsInput && pipe2(input, O_CLOEXEC)) || pipe2(output, O_CLOEXEC) ? errno : 0;
  Socket inputRead(input[0]), inputWrite(input[1]), outputRead(output[0]), outputWrite(output[1]);
  pid_t parent = getpid(), process = error ? -1 : fork();
  if (process < 0)
    return failure(kUserError, "cannot start rank %d: %s", job.first + index, std::strerror(error ? error : errno));
  if (process == 0) {
    isRank = true;
    // Nothing stays behind, however the parent ends.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(kInternal);
    inputWrite.close();
    outputRead.close();
    return becomeRank(root, job.first + index, listening, std::move(inputRead), std::move(outputWrite));
  }
  Rank &rank = ranks[static_cast<size_t>(index)];
  rank.process = process;
  if (inputWrite.isOpen())
    fcntl(inputWrite.descriptor(), F_SETFL, O_NONBLOCK);
  rank.input = std::move(inputWrite);
  rank.output = std::move(outputRead);
  return {};
}

void RankProcesses::takeInput() {
  ssize_t got = read(0, piece.data(), piece.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  hasInput = got > 0;
  for (Rank &rank : ranks) {
    if (!rank.input.isOpen())
      continue;
    if (got > 0)
      rank.waiting.append(piece.data(), static_cast<size_t>(got));
    giveInput(rank);
  }
}

void RankProcesses::giveInput(Rank &rank) {
  ssize_t given = rank.waiting.empty() ? 0 : write(rank.input.descriptor(), rank.waiting.data(), rank.waiting.size());
  bool isLater = given < 0 && (errno == EAGAIN || errno == EINTR);
  if (given > 0)
    rank.waiting.erase(0, static_cast<size_t>(given));
  if ((given < 0 && !isLater) || (!hasInput && rank.waiting.empty()))
    rank.input.close();
}

void RankProcesses::takeErrors(size_t index) {
  char piece[4096];
  ssize_t got = read(ranks[index].output.descriptor(), piece, sizeof piece);
  if (got > 0)
    return errors.add(static_cast<int>(index), piece, static_cast<size_t>(got));
  if (got < 0 && errno == EINTR)
    return;
  ranks[index].output.close();
  errors.finish(static_cast<int>(index));
}

void RankProcesses::reap() {
  for (size_t i = 0; i < ranks.size(); ++i) {
    int how = 0;
    if (ranks[i].process < 0 || waitpid(ranks[i].process, &how, WNOHANG | WUNTRACED | WCONTINUED) <= 0)
      continue;
    ranks[i].isStopped = WIFSTOPPED(how);
    if (!WIFEXITED(how) && !WIFSIGNALED(how))
      continue;
    ranks[i].process = -1;
    someEnded = true;
    // Of a rank that was killed and others that found that out, the end may be seen in any order.
    int signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    if (how == 0 || isLate || (outcome.failed() && (!signal || outcome.code > 128)))
      continue;
    outcome.code = signal ? 128 + signal : WEXITSTATUS(how);
    if (signal)
      outcome.message = format("rank %d was ended by signal %d (%s)", job.first + static_cast<int>(i), signal,
                               strsignal(signal));
    limit = Deadline(kRanksGrace);
    isLimited = true;
  }
}

/// A rank that others have left behind has no longer than they would have waited for it. The first one may be writing
/// files.
void RankProcesses::limitTime() {
  bool lingers = ranks[0].process < 0;
  for (const Rank &rank : ranks)
    lingers = lingers || rank.isStopped;
  if (!isLimited && someEnded && lingers) {
    limit = Deadline(job.patience * 1000000);
    isLimited = true;
  }
  if (ending || !isLimited || isLate || !limit.isOver())
    return;
  isLate = true;
  for (size_t i = 0; i < ranks.size() && !outcome.failed(); ++i)
    if (ranks[i].process >= 0)
      outcome = failure(kUserError, "rank %d did not end within %g s after others", job.first + static_cast<int>(i),
                        static_cast<double>(job.patience) / 1e3);
  killAll(SIGKILL);
}

void RankProcesses::takeSignals() {
  signalfd_siginfo info;
  while (read(signals.descriptor(), &info, sizeof info) == sizeof info) {
    auto number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD)
      continue;
    // Who repeats it means it.
    killAll(ending ? SIGKILL : number);
    killAll(SIGCONT);
    ending = number;
  }
  reap();
}

void RankProcesses::follow() {
  while (areRunning()) {
    limitTime();
    bool isFull = false;
    std::vector<pollfd> ready{{signals.descriptor(), POLLIN, 0}, {-1, POLLIN, 0}};
    for (const Rank &rank : ranks) {
      isFull = isFull || rank.waiting.size() > kMostInput;
      ready.push_back({rank.output.descriptor(), POLLIN, 0});
      ready.push_back({rank.waiting.empty() ? -1 : rank.input.descriptor(), POLLOUT, 0});
    }
    if (hasInput && !isFull)
      ready[1].fd = 0;
    bool waits = isLimited && !isLate && !ending;
    if (poll(ready.data(), ready.size(), waits ? limit.milliseconds() : -1) < 0)
      continue;
    if (ready[0].revents)
      takeSignals();
    if (ready[1].revents)
      takeInput();
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ready[2 * i + 2].revents)
        takeErrors(i);
      if (ready[2 * i + 3].revents)
        giveInput(ranks[i]);
    }
  }
}

Status RankProcesses::run(bool &isOver) {
  Socket listening;
  int port = 0;
  Ranks where;
  if (!job.root.empty())
    if (Status s = readRoot(job.root, where); s.failed())
      return s;
  port = where.port;
  // Only at that address.
  if (job.first == 0)
    if (Status s = listenAt(where.host, port, listening); s.failed())
      return s;
  std::string root = job.root.empty() ? format("%s:%d", where.host.c_str(), port) : job.root;
  holdSignals();
  hasInput = job.readsInput;
  for (int rank = 0; rank < job.count; ++rank) {
    bool isRank = false;
    Status s = open(root, rank, listening, isRank);
    if (isRank)
      return s;
    if (s.failed()) {
      killAll(SIGKILL);
      outcome = s;
      break;
    }
  }
  listening.close();
  follow();
  isOver = true;
  if (ending)
    return {128 + ending, ""};
  errors.report();
  if (errors.hasFailure())
    outcome.message.clear();
  return outcome;
}

Status runRanks(const RankJob &job, bool &isOver) { return RankProcesses(job).run(isOver); }

} // namespace moert
