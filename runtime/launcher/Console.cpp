//===- Console.cpp - standard streams, whole files, signals -------------------------------------------------------===//

#include "Console.h"

#include "core/InputFile.h"
#include "core/OutputFile.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace moert {

/// How long a pipe may be without anybody at its other end: who starts both sides starts one of them first.
constexpr int kOtherEndMs = 2000;

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP};

/// As a shell would say it: 130 after Ctrl-C, 143 after SIGTERM.
static void end(int signal) { _exit(128 + signal); }

/// What the executable was called, for a handler.
static const char *ownName = "model";

/// Weights are mapped: what would be an error of read() comes as a signal. Anything else that sends it is a fault of
/// the program, as it was without a handler.
static void endWithoutMapped(int number, siginfo_t *info, void *) {
  if (info->si_code != BUS_ADRERR && info->si_code != BUS_OBJERR) {
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  const char *const parts[] = {ownName,
                               ": error: mapped memory cannot be read or written: the archive of weights became "
                               "shorter, its disk failed, or no memory is left to share with other ranks\n"};
  for (const char *part : parts)
    (void)!write(2, part, std::strlen(part));
  _exit(kUserError);
}

void setUpProcess(const char *executable) {
  ownName = executable;
  // A closed standard stream would give its number to the next file that is opened. A stand-in for the output that is
  // only read makes writes fail, and one for the input that is only written reads, as they should.
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0)
      (void)!open("/dev/null", fd == 1 ? O_RDONLY : O_WRONLY);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  struct sigaction mapped = {};
  mapped.sa_sigaction = endWithoutMapped;
  mapped.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &mapped, nullptr);
  // Without a handler, the first process of a container would not end. Someone who starts the process with a signal
  // ignored (nohup, a shell's background job) means it.
  struct sigaction action = {}, before;
  action.sa_handler = end;
  for (int signal : kEndingSignals)
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(signal, &action, nullptr);
}

// Ranks may be threads of one process.
static thread_local bool isSilent = false;
static thread_local int ownInput = 0;

void setUpThread(int input, bool heard) {
  ownInput = input;
  isSilent = !heard;
}

int standardInput() { return ownInput; }

bool isHeard() { return !isSilent; }

Status print(const std::string &text) {
  if (isSilent)
    return {};
  if (int number = writeAll(1, text.data(), text.size()))
    return failure(kUserError, "cannot write the standard output: %s", strerror(number));
  return {};
}

void silence() {
  isSilent = true;
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, 1);
  close(nowhere);
}

/// Whole, however long: a line may name several paths, which somebody copies.
static void writeLine(const char *format, va_list list) {
  va_list again;
  va_copy(again, list);
  int size = std::vsnprintf(nullptr, 0, format, list);
  if (size >= 0) {
    std::string line(static_cast<size_t>(size) + 1, '\n');
    std::vsnprintf(&line[0], line.size(), format, again);
    line.back() = '\n'; // was the 0 at the end
    (void)writeAll(2, line.data(), line.size());
  }
  va_end(again);
}

void note(const char *format, ...) {
  va_list list;
  va_start(list, format);
  if (!isSilent)
    writeLine(format, list);
  va_end(list);
}

void complain(const char *format, ...) {
  va_list list;
  va_start(list, format);
  writeLine(format, list);
  va_end(list);
}

/// Opens what is read front to back: a file, a pipe, or a device such as a terminal.
static Status openStream(const std::string &path, int &fd, bool &pipe) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    return failure(kUserError, "cannot read '%s': %s", path.c_str(), strerror(errno));
  pipe = S_ISFIFO(info.st_mode);
  if (!S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode) && !pipe)
    return failure(kUserError, "cannot read '%s': it is %s, not a file", path.c_str(), otherKind(info.st_mode));
  // Without O_NONBLOCK, to open a pipe would wait for somebody to write it.
  fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  return fd < 0 ? failure(kUserError, "cannot read '%s': %s", path.c_str(), strerror(errno)) : Status{};
}

/// Waits for something to read, or for the end.
static bool waitForInput(int fd, int milliseconds) {
  pollfd wanted = {fd, POLLIN, 0};
  int ready;
  while ((ready = poll(&wanted, 1, milliseconds)) < 0 && errno == EINTR) {
  }
  return ready > 0;
}

bool mayGoOn(int fd, int number) {
  if (number == EAGAIN)
    waitForInput(fd, -1);
  return number == EAGAIN || number == EINTR;
}

Status readAll(const std::string &path, size_t limit, std::string &text) {
  bool standard = path == "-", pipe = false;
  const char *name = standard ? "the standard input" : path.c_str();
  int fd = standardInput();
  if (!standard)
    if (Status s = openStream(path, fd, pipe); s.failed())
      return s;
  Status status;
  std::vector<char> piece(size_t(1) << 16); // the stack may be small
  bool waited = false, somebody = !pipe;
  while (text.size() <= limit) {
    ssize_t got = read(fd, piece.data(), piece.size());
    if (got > 0) {
      text.append(piece.data(), static_cast<size_t>(got));
    } else if (got < 0 && !mayGoOn(fd, errno)) { // else somebody has the other end, and takes time
      status = failure(kUserError, "cannot read '%s': %s", name, strerror(errno));
      break;
    } else if (got == 0 && text.empty() && !somebody && !waited) {
      // The end, or nobody has opened the other end yet: who does so and takes time makes read() say EAGAIN.
      waited = true;
      somebody = waitForInput(fd, kOtherEndMs);
    } else if (got == 0) {
      if (text.empty() && !somebody)
        status = failure(kUserError, "cannot read '%s': nobody writes to this pipe", name);
      break;
    }
  }
  if (!standard)
    close(fd);
  if (!status.failed() && text.size() > limit)
    status = failure(kUserError, "cannot read '%s': more than %zu bytes", name, limit);
  return status;
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
  for (ssize_t got; (got = read(standardInput(), &c, 1)) != 0;) {
    if (got < 0 && mayGoOn(standardInput(), errno))
      continue;
    if (got < 0)
      return false;
    if (c == '\n')
      return true;
    line += c;
  }
  return !line.empty();
}

SignalsHeld::SignalsHeld(bool hold) : held(hold) {
  sigset_t ending;
  sigemptyset(&ending);
  for (int signal : kEndingSignals)
    sigaddset(&ending, signal);
  if (held)
    sigprocmask(SIG_BLOCK, &ending, &before);
}

SignalsHeld::~SignalsHeld() {
  if (held)
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

} // namespace moert
