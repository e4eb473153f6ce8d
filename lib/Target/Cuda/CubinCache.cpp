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

#include "llvm/Support/FileSystem.h"

#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>

using namespace llvm;
using namespace moe_mlir;

static constexpr StringRef kFolders[] = {"kernels", "tmp"};

CubinCache::CubinCache(StringRef folder) : folder(folder, kFolders) {}

CubinCache CubinCache::fromEnvironment() { return CubinCache(CacheFolder::fromEnvironment()); }

std::string CubinCache::entry(StringRef fingerprint, const KernelText &kernel) const {
  return (folder.getPath() + "/kernels/").str() + digest({fingerprint, kernel.name, kernel.source});
}

std::optional<Cubin> CubinCache::find(StringRef fingerprint, const KernelText &kernel) const {
  if (!folder)
    return std::nullopt;
  const std::string path = entry(fingerprint, kernel);
  if (!isOwnFolder(path))
    return std::nullopt;
  std::optional<std::string> source = readOwnFile(path + "/kernel.cu"), code = readOwnFile(path + "/kernel.cubin"),
                             log = readOwnFile(path + "/log"), checksum = readOwnFile(path + "/checksum");
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

/// With all that it holds, pipes too.
static void remove(const std::string &folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

void CubinCache::add(StringRef fingerprint, const KernelText &kernel, const Cubin &cubin) const {
  if (!folder || sys::fs::create_directories(folder.getPath() + "/kernels", /*IgnoreExisting=*/true, sys::fs::owner_all) ||
      sys::fs::create_directories(folder.getPath() + "/tmp", /*IgnoreExisting=*/true, sys::fs::owner_all))
    return;
  std::string mine = (folder.getPath() + "/tmp/kernel-XXXXXX").str();
  if (!mkdtemp(mine.data()) || chmod(mine.c_str(), 0700) != 0) // whatever the umask leaves of it
    return;
  const std::string path = entry(fingerprint, kernel);
  if (writeOwnFile(mine + "/kernel.cu", kernel.source) && writeOwnFile(mine + "/kernel.cubin", cubin.code) &&
      writeOwnFile(mine + "/log", cubin.log) &&
      writeOwnFile(mine + "/checksum", digest({kernel.source, cubin.code, cubin.log}))) {
    // A folder that is there already is another process's, and as good; or it is damaged and has to make way.
    if (rename(mine.c_str(), path.c_str()) == 0)
      return;
    if (!find(fingerprint, kernel) && rename(path.c_str(), (mine + "/damaged").c_str()) == 0 &&
        rename(mine.c_str(), path.c_str()) == 0)
      remove(path + "/damaged");
  }
  remove(mine);
}
