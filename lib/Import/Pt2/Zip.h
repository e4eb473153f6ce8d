//===- Zip.h - directory of a zip file whose entries are stored ----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_ZIP_H
#define MOE_MLIR_LIB_IMPORT_PT2_ZIP_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace moe_mlir::pt2 {

struct ZipEntry {
  llvm::StringRef name;
  /// Of the data, in the file.
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t crc32 = 0;
};

/// Reads the central directory of `file`. Refuses what a reader of mapped weights cannot use or should not trust:
/// compressed or encrypted entries, several disks, names that leave the archive, duplicate names, entries that overlap
/// or reach beyond the file. Errors are `ImportError`s without the file's name.
llvm::Expected<std::vector<ZipEntry>> readZipDirectory(llvm::StringRef file);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_ZIP_H
