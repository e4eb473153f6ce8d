//===- FileKind.h - what stands where a file is expected ------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_FILEKIND_H
#define MOE_MLIR_SUPPORT_FILEKIND_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

namespace moe_mlir {

/// What stands at `path` if it is no file that could be mapped, for a message: "a folder". Empty for a file, and for
/// what cannot be looked at: whoever opens it says why. To be asked before anything is opened: a pipe would wait for a
/// writer, and reading a device might never end.
inline llvm::StringRef kindIfNoFile(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    return "";
  switch (status.type()) {
  case llvm::sys::fs::file_type::directory_file:
    return "a folder";
  case llvm::sys::fs::file_type::fifo_file:
    return "a pipe";
  case llvm::sys::fs::file_type::socket_file:
    return "a socket";
  case llvm::sys::fs::file_type::character_file:
  case llvm::sys::fs::file_type::block_file:
    return "a device";
  default:
    return "";
  }
}

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_FILEKIND_H
