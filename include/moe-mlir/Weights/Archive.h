//===- Archive.h - writes the weight archive of a compiled program --------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_WEIGHTS_ARCHIVE_H
#define MOE_MLIR_WEIGHTS_ARCHIVE_H

#include "moe-mlir/Weights/Recipe.h"

#include <atomic>
#include <functional>

namespace moe_mlir {

struct ArchiveEntryPlan {
  std::string key; ///< Unique in the archive.
  PackedTensor tensor;
  /// Called by the writing thread before the data is read, if set: the place to check the sources.
  std::function<llvm::Error()> check;
};

struct ArchiveOptions {
  std::string name; ///< What messages call the file; empty: its path.
  unsigned threads = 2;
  /// Called now and then, from one of the threads at a time, with the bytes done so far.
  std::function<void(uint64_t)> progress;
  /// When it becomes true the writer stops and returns an error.
  const std::atomic<bool> *cancel = nullptr;
};

/// Bytes of the archive that `writeArchive` would write, data and table.
uint64_t archiveSize(llvm::ArrayRef<ArchiveEntryPlan> entries);

/// Writes an archive as `moert/archive.h` describes it; the bytes depend on the arguments only, not on the threads.
/// Memory stays at a few MiB per thread whatever the size. `weightsId`: 32 hex digits. The file is created or
/// overwritten; on failure it is left behind incomplete, so give a temporary name and rename.
llvm::Error writeArchive(llvm::StringRef path, llvm::StringRef weightsId, llvm::ArrayRef<ArchiveEntryPlan> entries,
                         const ArchiveOptions &options = {});

} // namespace moe_mlir

#endif // MOE_MLIR_WEIGHTS_ARCHIVE_H
