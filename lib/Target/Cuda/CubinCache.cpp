//===- CubinCache.cpp - compiled kernels on disk ------------------------------------------------------------------===//
//
//   FOLDER/kernels/<64 hex digits>/{kernel.cu, kernel.cubin, log, checksum}
//
// An entry is written completely into FOLDER/tmp and then renamed, so that nobody sees a part of it; who comes second
// throws his copy away. The checksum covers the other files: an entry that a full disk or a crash has damaged counts as
// missing and is replaced. Nothing here is an error: without a cache everything is compiled.
//
// The checksum keeps nobody from putting an entry there whose code is not its text's; what does is who may write. So
// folders and files count only if they belong to the user or to root, and nobody else can write them.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Target/Nvrtc.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace moe_mlir;

static std::string digest(ArrayRef<StringRef> parts) {
  SHA256 hash;
  for (StringRef part : parts) {
    // Lengths keep ("ab", "c") and ("a", "bc") apart.
    hash.update(std::to_string(part.size()) + ":");
    hash.update(part);
  }
  return toHex(hash.final(), /*LowerCase=*/true);
}

static bool onlyOwnCanWrite(const struct stat &status) {
  return (status.st_uid == geteuid() || status.st_uid == 0) && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

CubinCache::CubinCache(StringRef folder) {
  SmallString<128> absolute(folder);
  if (folder.empty() || sys::fs::make_absolute(absolute))
    return;
  this->folder = absolute.str().str();
  for (std::string path : {this->folder, this->folder + "/kernels", this->folder + "/tmp"}) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0 || onlyOwnCanWrite(status))
      continue;
    warningText = "the kernel cache '" + this->folder + "' is not used: others can write '" + path +
                  "'; give it to yourself alone (chmod 700), or name another folder by MOE_CACHE_DIR";
    this->folder.clear();
    return;
  }
}

CubinCache CubinCache::fromEnvironment() {
  if (std::optional<std::string> folder = sys::Process::GetEnv("MOE_CACHE_DIR"))
    return CubinCache(*folder);
  SmallString<128> folder(sys::Process::GetEnv("XDG_CACHE_HOME").value_or(""));
  if (folder.empty()) {
    if (!sys::path::home_directory(folder))
      return CubinCache("");
    sys::path::append(folder, ".cache");
  }
  sys::path::append(folder, "moe-mlir");
  return CubinCache(folder);
}

std::string CubinCache::entry(StringRef fingerprint, const KernelText &kernel) const {
  return folder + "/kernels/" + digest({fingerprint, kernel.name, kernel.source});
}

/// The bytes of a file of the user's. What is no file has none: a pipe would wait for a writer.
static std::optional<std::string> readFile(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    return std::nullopt;
  auto closing = make_scope_exit([&] { close(fd); });
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

std::optional<Cubin> CubinCache::find(StringRef fingerprint, const KernelText &kernel) const {
  if (folder.empty())
    return std::nullopt;
  const std::string path = entry(fingerprint, kernel);
  struct stat status;
  if (lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || !onlyOwnCanWrite(status))
    return std::nullopt;
  std::optional<std::string> source = readFile(path + "/kernel.cu"), code = readFile(path + "/kernel.cubin"),
                             log = readFile(path + "/log"), checksum = readFile(path + "/checksum");
  if (!source || !code || !log || !checksum || *source != kernel.source || code->empty() ||
      *checksum != digest({*source, *code, *log}))
    return std::nullopt;
  Cubin cubin;
  cubin.code = std::move(*code);
  cubin.log = std::move(*log);
  cubin.fromCache = true;
  readLog(kernel.name, cubin);
  return cubin;
}

/// Writes a file to the disk itself: after a crash a renamed folder must not hold empty files.
static bool writeFile(const std::string &path, StringRef text) {
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
  written &= fsync(fd) == 0;
  return (close(fd) == 0) & written;
}

/// With all that it holds, pipes too.
static void remove(const std::string &folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

void CubinCache::add(StringRef fingerprint, const KernelText &kernel, const Cubin &cubin) const {
  if (folder.empty() || sys::fs::create_directories(folder + "/kernels", /*IgnoreExisting=*/true, sys::fs::owner_all) ||
      sys::fs::create_directories(folder + "/tmp", /*IgnoreExisting=*/true, sys::fs::owner_all))
    return;
  SmallString<128> own;
  if (sys::fs::createUniqueDirectory(folder + "/tmp/kernel", own) || chmod(own.c_str(), 0700) != 0)
    return;
  const std::string path = entry(fingerprint, kernel), mine = own.str().str();
  if (writeFile(mine + "/kernel.cu", kernel.source) && writeFile(mine + "/kernel.cubin", cubin.code) &&
      writeFile(mine + "/log", cubin.log) &&
      writeFile(mine + "/checksum", digest({kernel.source, cubin.code, cubin.log}))) {
    // A folder that is there already is another process's, and as good; or it is damaged and has to make way.
    if (rename(mine.c_str(), path.c_str()) == 0)
      return;
    if (!find(fingerprint, kernel) && rename(path.c_str(), (mine + "/damaged").c_str()) == 0 &&
        rename(mine.c_str(), path.c_str()) == 0)
      remove(path + "/damaged");
  }
  remove(mine);
}
