//===- ZipWriter.h - archives of stored entries, in memory ---------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_UNITTESTS_FUZZ_ZIPWRITER_H
#define MOE_MLIR_UNITTESTS_FUZZ_ZIPWRITER_H

#include "llvm/ADT/StringRef.h"
#include <string>

/// Writes what torch.export.save writes: entries that are not compressed.
class ZipWriter {
public:
  void add(llvm::StringRef name, llvm::StringRef data);
  std::string finish();

private:
  std::string file, directory;
  unsigned count = 0;
};

#endif // MOE_MLIR_UNITTESTS_FUZZ_ZIPWRITER_H
