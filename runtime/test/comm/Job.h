//===- Job.h - runs a function as several ranks, each in a process of its own -------------------------------------===//
#ifndef MOERT_TEST_COMM_JOB_H
#define MOERT_TEST_COMM_JOB_H

#include "comm/Bootstrap.h"

#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace moert::test {

constexpr int64_t second = 1000000000;

/// A port that nobody listens at.
inline int freePort() {
  Socket socket;
  int port = 0;
  return listenAt("127.0.0.1", port, socket).failed() ? 0 : port;
}

/// How a rank ended: by a signal, or with the text that its function returned.
struct Ending {
  int signal = 0;
  std::string text;
  double seconds = 0;
};

class Job {
public:
  /// What rank `rank` does; what it returns is its ending's text.
  using Body = std::function<std::string(const Ranks &)>;

  explicit Job(int count) : port(freePort()), count(count) {}

  Ranks ranks(int rank) const {
    Ranks result;
    result.rank = rank;
    result.ranks = count;
    result.port = port;
    result.token = "job " + std::to_string(port);
    result.launcher = "test";
    return result;
  }

  void start(int rank, const Body &body) {
    int ends[2];
    if (pipe(ends))
      std::abort();
    started = now();
    pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      std::string text = body(ranks(rank));
      (void)!write(ends[1], text.data(), text.size());
      _exit(0);
    }
    close(ends[1]);
    children.push_back({child, Socket(ends[0])});
  }

  /// Of the one that was started as number `index`.
  pid_t process(int index) const { return children[static_cast<size_t>(index)].process; }

  /// Waits for all that were started, in that order. `then` is done when the first `count` have ended.
  std::vector<Ending> wait(const std::function<void()> &then = nullptr, size_t count = 0) {
    std::vector<Ending> endings;
    for (Child &child : children) {
      if (then && endings.size() == count)
        then();
      Ending ending;
      char buffer[4096];
      for (ssize_t got; (got = read(child.output.descriptor(), buffer, sizeof buffer)) > 0;)
        ending.text.append(buffer, static_cast<size_t>(got));
      int status = 0;
      waitpid(child.process, &status, 0);
      ending.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      ending.seconds = double(now() - started) / second;
      endings.push_back(ending);
    }
    children.clear();
    return endings;
  }

  /// All ranks do the same.
  std::vector<Ending> run(const Body &body) {
    for (int rank = 0; rank < count; ++rank)
      start(rank, body);
    return wait();
  }

  const int port, count;

private:
  struct Child {
    pid_t process;
    Socket output;
  };
  std::vector<Child> children;
  int64_t started = 0;
};

} // namespace moert::test

#endif // MOERT_TEST_COMM_JOB_H
