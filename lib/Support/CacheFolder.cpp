//===- CacheFolder.cpp - where compiled kernels are kept on disk --------------------------------------------------===//

#include "moe-mlir/Support/CacheFolder.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace moe_mlir;

std::string moe_mlir::digest(ArrayRef<StringRef> parts) {
  SHA256 hash;
  for (StringRef part : parts) {
    hash.update(std::to_string(part.size()) + ":");
    hash.update(part);
  }
  return toHex(hash.final(), /*LowerCase=*/true);
}

static bool onlyOwnCanWrite(const struct stat &status) {
  return (status.st_uid == geteuid() || status.st_uid == 0) && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

CacheFolder::CacheFolder(StringRef folder, ArrayRef<StringRef> inside) {
  SmallString<128> absolute(folder);
  if (folder.empty() || sys::fs::make_absolute(absolute))
    return;
  path = absolute.str().str();
  SmallVector<std::string> all = {path};
  for (StringRef name : inside)
    all.push_back((path + "/" + name).str());
  for (const std::string &one : all) {
    struct stat status;
    if (stat(one.c_str(), &status) != 0 || onlyOwnCanWrite(status))
      continue;
    warning = "the kernel cache '" + path + "' is not used: others can write '" + one +
              "'; give it to yourself alone (chmod 700), or name another folder by MOE_CACHE_DIR";
    path.clear();
    return;
  }
}

std::string CacheFolder::fromEnvironment() {
  if (std::optional<std::string> folder = sys::Process::GetEnv("MOE_CACHE_DIR"))
    return *folder;
  // Neither is a place if it is relative, or empty: every working directory would have a cache.
  SmallString<128> folder(sys::Process::GetEnv("XDG_CACHE_HOME").value_or(""));
  if (!sys::path::is_absolute(folder)) {
    if (!sys::path::home_directory(folder) || !sys::path::is_absolute(folder))
      return "";
    sys::path::append(folder, ".cache");
  }
  sys::path::append(folder, "moe-mlir");
  return folder.str().str();
}

bool moe_mlir::isOwnFolder(const std::string &path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && onlyOwnCanWrite(status);
}

std::optional<std::string> moe_mlir::readOwnFile(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return std::nullopt;
  scope_exit closing([&] { close(fd); });
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !onlyOwnCanWrite(status))
    return std::nullopt;
  std::string text(status.st_size, '\0');
  size_t done = 0;
  while (done < text.size()) {
    ssize_t count = read(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return std::nullopt;
    done += count;
  }
  return text;
}

bool moe_mlir::writeOwnFile(const std::string &path, StringRef text) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return false;
  bool written = true;
  while (written && !text.empty()) {
    ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    written = count > 0;
    text = text.drop_front(written ? count : 0);
  }
  return (close(fd) == 0) & written;
}
