//===- OutputFile.cpp - files that appear only when complete ------------------------------------------------------===//

#include "core/OutputFile.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace moert {

constexpr size_t kBufferSize = size_t(1) << 16;

int writeAll(int fd, const void *data, size_t size) {
  const char *p = static_cast<const char *>(data);
  while (size) {
    ssize_t written = ::write(fd, p, size);
    if (written < 0) {
      if (errno == EINTR)
        continue;
      return errno;
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

Status OutputFile::error(const char *what, int number) {
  return failure(kUserError, "cannot %s '%s': %s", what, path.c_str(), strerror(number));
}

Status OutputFile::open(const std::string &target) {
  path = target;
  struct stat info;
  bool exists = stat(target.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return error("write", EISDIR);
  if (exists && !S_ISREG(info.st_mode)) {
    fd = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    return fd < 0 ? error("write", errno) : Status{};
  }
  // Renaming onto a symbolic link would replace the link: write beside the file that it names.
  if (exists)
    if (char *resolved = realpath(target.c_str(), nullptr)) {
      path = resolved;
      free(resolved);
    }
  if (exists && access(path.c_str(), W_OK) != 0)
    return error("write", errno);
  std::string name = path + ".tmp.XXXXXX";
  fd = mkostemp(&name[0], O_CLOEXEC);
  if (fd < 0)
    return error("write", errno);
  temporary = name;
  mode_t mask = umask(0);
  umask(mask);
  fchmod(fd, exists ? info.st_mode & 07777 : 0666 & ~mask);
  return {};
}

Status OutputFile::check(const std::string &target) {
  OutputFile file;
  struct stat info;
  if (stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    file.path = target;
    return access(target.c_str(), W_OK) == 0 ? Status{} : file.error("write", errno);
  }
  return file.open(target);
}

Status OutputFile::flush() {
  int number = writeAll(fd, buffer.data(), buffer.size());
  buffer.clear();
  return number ? error("write", number) : Status{};
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
  return number ? error("write", number) : Status{};
}

Status OutputFile::close() {
  if (fd < 0)
    return {};
  if (Status s = flush(); s.failed())
    return s;
  int number = ::close(fd) == 0 ? 0 : errno;
  fd = -1;
  return number ? error("write", number) : Status{};
}

Status OutputFile::commit() {
  if (Status s = close(); s.failed())
    return s;
  if (!temporary.empty() && rename(temporary.c_str(), path.c_str()) != 0)
    return error("write", errno);
  temporary.clear();
  return {};
}

} // namespace moert
