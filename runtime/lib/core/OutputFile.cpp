//===- OutputFile.cpp - files that appear only when complete ------------------------------------------------------===//

#include "core/OutputFile.h"

#include "core/InputFile.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace moert {

constexpr size_t kBufferSize = size_t(1) << 16;
/// How long a pipe may be without a reader: who starts both sides starts one of them first.
constexpr int kReaderMs = 2000, kReaderStepMs = 10;

int writeAll(int fd, const void *data, size_t size) {
  const char *p = static_cast<const char *>(data);
  while (size) {
    ssize_t written = ::write(fd, p, size);
    if (written < 0) {
      int number = errno;
      // Whoever shares the other end of a terminal or pipe may have made it non-blocking for all of them.
      if (number == EAGAIN) {
        pollfd wanted = {fd, POLLOUT, 0};
        (void)poll(&wanted, 1, -1);
      } else if (number != EINTR) {
        return number;
      }
      continue;
    }
    p += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : path(std::move(other.path)), temporary(std::move(other.temporary)), buffer(std::move(other.buffer)),
      fd(other.fd) {
  other.fd = -1;
  other.temporary.clear();
}

OutputFile::~OutputFile() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Status OutputFile::error(int number) {
  return failure(kUserError, "cannot write '%s': %s", path.c_str(), strerror(number));
}

Status OutputFile::refuse(const char *kind) {
  return failure(kUserError, "cannot write '%s': it is %s, not a file", path.c_str(), kind);
}

Status OutputFile::open(const std::string &target, Links links) {
  path = target;
  struct stat info;
  bool exists = (links == Links::Follow ? stat : lstat)(target.c_str(), &info) == 0;
  if (exists && S_ISLNK(info.st_mode))
    exists = false; // the link is replaced, and what it leads to is none of our business
  if (exists && !S_ISREG(info.st_mode))
    return refuse(otherKind(info.st_mode));
  // Renaming onto a symbolic link would replace the link: write beside the file that it names.
  if (exists && links == Links::Follow)
    if (char *resolved = realpath(target.c_str(), nullptr)) {
      path = resolved;
      free(resolved);
    }
  if (exists && access(path.c_str(), W_OK) != 0)
    return error(errno);
  if (int number = openTemporary(exists ? 0600 : 0666))
    return error(number);
  if (exists)
    fchmod(fd, info.st_mode & 07777);
  return {};
}

/// Opens a new file beside `path`. The system applies the umask, as to any new file: to ask for it would change it for
/// a moment, for all threads of the process.
int OutputFile::openTemporary(mode_t mode) {
  constexpr int kAttempts = 100;
  // A name may be as long as the system allows: the temporary one is no longer than that.
  constexpr size_t kLongest = 200;
  size_t slash = path.rfind('/'), begin = slash == std::string::npos ? 0 : slash + 1;
  std::string stem = path.substr(0, begin + std::min(path.size() - begin, kLongest));
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
      return errno;
    std::string name = stem + format(".tmp.%08x", number);
    fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd >= 0) {
      temporary = name;
      return 0;
    }
    if (errno != EEXIST)
      return errno;
  }
  return EEXIST;
}

bool OutputFile::isStream(const std::string &target) {
  struct stat info;
  return stat(target.c_str(), &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISCHR(info.st_mode));
}

/// Without O_NONBLOCK, to open a pipe would wait for somebody to read it.
Status OutputFile::openPipe() {
  for (int wait = 0; wait <= kReaderMs; wait += kReaderStepMs) {
    fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0)
      return fcntl(fd, F_SETFL, O_WRONLY) == 0 ? Status{} : error(errno);
    if (errno != ENXIO)
      return error(errno);
    usleep(kReaderStepMs * 1000);
  }
  return failure(kUserError, "cannot write '%s': nobody reads this pipe", path.c_str());
}

Status OutputFile::openStream(const std::string &target) {
  if (!isStream(target))
    return open(target);
  path = target;
  return openPipe();
}

Status OutputFile::checkStream(const std::string &target) {
  OutputFile file;
  if (!isStream(target))
    return file.open(target);
  file.path = target;
  return access(target.c_str(), W_OK) == 0 ? Status{} : file.error(errno);
}

Status OutputFile::flush() {
  int number = writeAll(fd, buffer.data(), buffer.size());
  buffer.clear();
  return number ? error(number) : Status{};
}

Status OutputFile::write(const void *data, size_t size) {
  const char *p = static_cast<const char *>(data);
  if (buffer.size() + size < kBufferSize) {
    buffer.insert(buffer.end(), p, p + size);
    return {};
  }
  if (Status s = flush(); s.failed())
    return s;
  int number = writeAll(fd, data, size);
  return number ? error(number) : Status{};
}

Status OutputFile::close() {
  if (fd < 0)
    return {};
  if (Status s = flush(); s.failed())
    return s;
  int number = ::close(fd) == 0 ? 0 : errno;
  fd = -1;
  return number ? error(number) : Status{};
}

Status OutputFile::commit() {
  if (Status s = close(); s.failed())
    return s;
  if (!temporary.empty() && rename(temporary.c_str(), path.c_str()) != 0)
    return error(errno);
  temporary.clear();
  return {};
}

} // namespace moert
