//===- TemporaryFolder.h - a folder for a test ----------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_UNITTESTS_CUDA_TEMPORARYFOLDER_H
#define MOE_MLIR_UNITTESTS_CUDA_TEMPORARYFOLDER_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

/// A folder that is empty at first and removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    llvm::SmallString<128> made;
    if (!llvm::sys::fs::createUniqueDirectory("moe-nvrtc-test", made))
      path = made.str().str();
  }
  ~TemporaryFolder() { llvm::sys::fs::remove_directories(path); }

  /// Writes a file, with the folders that it needs; its path.
  std::string write(const std::string &name, llvm::StringRef text = "") const {
    std::string file = path + "/" + name;
    llvm::sys::fs::create_directories(llvm::sys::path::parent_path(file));
    std::error_code error;
    llvm::raw_fd_ostream(file, error) << text;
    return file;
  }

  std::string path;
};

#endif // MOE_MLIR_UNITTESTS_CUDA_TEMPORARYFOLDER_H
