//===- CacheFolder.h - where compiled kernels are kept on disk ------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_CACHEFOLDER_H
#define MOE_MLIR_SUPPORT_CACHEFOLDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace moe_mlir {

/// A folder of the user's whose files become part of programs: nothing in it counts that others than the user and root
/// own or can write.
class CacheFolder {
public:
  /// `folder` with the folders `inside` that are used of it. Empty, or one that others can write: no cache.
  CacheFolder(llvm::StringRef folder, llvm::ArrayRef<llvm::StringRef> inside);
  /// $MOE_CACHE_DIR (empty: none), else $XDG_CACHE_HOME/moe-mlir, else ~/.cache/moe-mlir.
  static std::string fromEnvironment();

  explicit operator bool() const { return !path.empty(); }
  /// An absolute path; empty: no cache.
  llvm::StringRef getPath() const { return path; }
  /// Why there is no cache although a folder was given; empty otherwise.
  llvm::StringRef getWarning() const { return warning; }

private:
  std::string path, warning;
};

/// Whether this is a folder, not a link to one, that only the user and root can write.
bool isOwnFolder(const std::string &path);
/// The bytes of a file of the user's. What is no file has none: a pipe would wait for a writer.
std::optional<std::string> readOwnFile(const std::string &path);
/// Writes a file that was not there. After a crash it may be empty: what is in it needs a checksum.
bool writeOwnFile(const std::string &path, llvm::StringRef text);
/// SHA-256 in hex. Lengths count, so that ("ab", "c") and ("a", "bc") differ.
std::string digest(llvm::ArrayRef<llvm::StringRef> parts);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_CACHEFOLDER_H
