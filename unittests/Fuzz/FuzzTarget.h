//===- FuzzTarget.h - what fuzz targets have in common --------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_UNITTESTS_FUZZ_FUZZTARGET_H
#define MOE_MLIR_UNITTESTS_FUZZ_FUZZTARGET_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace moe_mlir {

/// Ends the process with `what`, which is violated, unless `condition` holds.
void check(bool condition, const char *what);

/// A file without a place on a disk.
class MemoryFile {
public:
  explicit MemoryFile(llvm::StringRef bytes);
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile();

  /// By which it can be opened as long as this object lives.
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  int descriptor;
};

} // namespace moe_mlir

#endif // MOE_MLIR_UNITTESTS_FUZZ_FUZZTARGET_H
