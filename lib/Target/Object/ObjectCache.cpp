//===- ObjectCache.cpp - machine code of parts on disk ------------------------------------------------------------===//
//
//   FOLDER/objects/llvmcache-<64 hex digits>: the SHA-256 of an object, and the object
//
// A file is written under a name of its own and then renamed. One that does not fit its checksum counts as missing and
// is replaced. Nothing here is an error: without a cache everything is compiled. LLVM's pruning, which knows files by
// that name, limits what is kept.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Target/Object.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace moe_mlir;

static constexpr StringRef kFolders[] = {"objects"};
static constexpr size_t kDigits = 64;
/// Least recently used objects go, those beyond so many bytes and those of a week ago.
static constexpr uint64_t kMostBytes = uint64_t(1) << 30;

/// What else decides about machine code: the code generator, and the compiler that runs it.
static std::string compiler() {
  static int here;
  sys::fs::file_status status;
  if (sys::fs::status(sys::fs::getMainExecutable(nullptr, &here), status))
    return "";
  return (LLVM_VERSION_STRING " " + Twine(status.getSize()) + " " +
          Twine(status.getLastModificationTime().time_since_epoch().count()))
      .str();
}

ObjectCache::ObjectCache(StringRef folder) : folder(folder, kFolders), version(compiler()) {}

ObjectCache ObjectCache::fromEnvironment() { return ObjectCache(CacheFolder::fromEnvironment()); }

std::string ObjectCache::entry(StringRef settings, StringRef bitcode) const {
  return (folder.getPath() + "/objects/llvmcache-").str() + digest({version, settings, bitcode});
}

std::optional<std::string> ObjectCache::find(StringRef settings, StringRef bitcode) const {
  if (!folder || version.empty())
    return std::nullopt;
  std::optional<std::string> text = readOwnFile(entry(settings, bitcode));
  if (!text || text->size() <= kDigits)
    return std::nullopt;
  std::string object = text->substr(kDigits);
  if (text->compare(0, kDigits, digest({object})) != 0)
    return std::nullopt;
  return object;
}

void ObjectCache::add(StringRef settings, StringRef bitcode, StringRef object) const {
  if (!folder || version.empty() ||
      sys::fs::create_directories(folder.getPath() + "/objects", /*IgnoreExisting=*/true, sys::fs::owner_all))
    return;
  SmallString<32> name; // without the folder, in whose path each '%' would be taken for a digit, too
  sys::fs::createUniquePath("llvmcache-%%%%%%%%%%%%.part", name, /*MakeAbsolute=*/false);
  const std::string own = (folder.getPath() + "/objects/" + name).str();
  if (!writeOwnFile(own, digest({object}) + object.str()) || sys::fs::rename(own, entry(settings, bitcode)))
    sys::fs::remove(own);
}

void ObjectCache::prune() const {
  CachePruningPolicy policy; // once in 20 minutes, what nobody has used for a week
  policy.MaxSizeBytes = kMostBytes;
  if (folder)
    pruneCache((folder.getPath() + "/objects").str(), policy);
}
