//===- InputFile.cpp - files whose content is there before it is read ---------------------------------------------===//

#include "core/InputFile.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace moert {

const char *otherKind(mode_t mode) {
  if (S_ISREG(mode))
    return nullptr;
  return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

InputFile::InputFile(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    error = errno;
    return;
  }
  if ((kind = otherKind(info.st_mode)))
    return;
  // Something else may stand there by now: not to wait for it is the least.
  fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, &info) != 0)
    error = errno;
  else
    kind = otherKind(info.st_mode);
  if (fd >= 0 && (error || kind)) {
    ::close(fd);
    fd = -1;
  }
  size = static_cast<uint64_t>(info.st_size);
}

InputFile::~InputFile() {
  if (fd >= 0)
    ::close(fd);
}

} // namespace moert
