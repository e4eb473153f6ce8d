//===- Console.cpp - standard streams, whole files, signals -------------------------------------------------------===//

#include "Console.h"

#include "core/OutputFile.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace moert {

static void interrupted(int) { _exit(kInterrupted); }

void setUpProcess() {
  // A closed standard stream would give its number to the next file that is opened. A read-only stand-in for the
  // output makes writes fail, as they should.
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0)
      (void)!open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  // Someone who starts the process with the signal ignored (nohup, a shell's background job) means it.
  struct sigaction action = {}, before;
  action.sa_handler = interrupted;
  if (sigaction(SIGINT, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGINT, &action, nullptr);
}

Status print(const std::string &text) {
  if (int number = writeAll(1, text.data(), text.size()))
    return failure(kUserError, "cannot write the standard output: %s", strerror(number));
  return {};
}

void note(const char *format, ...) {
  char line[1024];
  va_list list;
  va_start(list, format);
  int size = std::vsnprintf(line, sizeof line - 1, format, list);
  va_end(list);
  if (size < 0)
    return;
  size_t length = std::min<size_t>(static_cast<size_t>(size), sizeof line - 2);
  line[length] = '\n';
  (void)writeAll(2, line, length + 1);
}

Status readAll(const std::string &path, size_t limit, std::string &text) {
  const char *name = path == "-" ? "the standard input" : path.c_str();
  int fd = path == "-" ? 0 : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return failure(kUserError, "cannot read '%s': %s", name, strerror(errno));
  char piece[1 << 16];
  ssize_t got;
  while ((got = read(fd, piece, sizeof piece)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0)
      text.append(piece, static_cast<size_t>(got));
    if (text.size() > limit)
      break;
  }
  int number = errno;
  if (fd != 0)
    close(fd);
  if (got < 0)
    return failure(kUserError, "cannot read '%s': %s", name, strerror(number));
  if (text.size() > limit)
    return failure(kUserError, "cannot read '%s': more than %zu bytes", name, limit);
  return {};
}

Status makeFolder(const std::string &dir) {
  struct stat info;
  if (mkdir(dir.c_str(), 0777) == 0)
    return {};
  int number = errno;
  if (stat(dir.c_str(), &info) == 0)
    return S_ISDIR(info.st_mode) ? Status{} : failure(kUserError, "'%s' is not a folder", dir.c_str());
  return failure(kUserError, "cannot make the folder '%s': %s", dir.c_str(), strerror(number));
}

bool readLine(std::string &line) {
  line.clear();
  char c;
  for (ssize_t got; (got = read(0, &c, 1)) != 0;) {
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return false;
    if (c == '\n')
      return true;
    line += c;
  }
  return !line.empty();
}

SignalsHeld::SignalsHeld() {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  sigaddset(&held, SIGTERM);
  sigaddset(&held, SIGHUP);
  sigprocmask(SIG_BLOCK, &held, &before);
}

SignalsHeld::~SignalsHeld() { sigprocmask(SIG_SETMASK, &before, nullptr); }

} // namespace moert
