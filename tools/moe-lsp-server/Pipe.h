//===- Pipe.h - what comes through a pipe -------------------------------------------------------------------------===//
#ifndef MOE_MLIR_TOOLS_MOE_LSP_SERVER_PIPE_H
#define MOE_MLIR_TOOLS_MOE_LSP_SERVER_PIPE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cerrno>
#include <unistd.h>

namespace moe_mlir {

/// Hands over each piece as it comes: to the end, to an error, or until `take` returns false.
inline void readPieces(int from, llvm::function_ref<bool(llvm::StringRef)> take) {
  char piece[1 << 16];
  for (ssize_t size; (size = read(from, piece, sizeof piece)) != 0;) {
    if (size < 0 && errno == EINTR)
      continue;
    if (size < 0 || !take({piece, static_cast<size_t>(size)}))
      return;
  }
}

} // namespace moe_mlir

#endif // MOE_MLIR_TOOLS_MOE_LSP_SERVER_PIPE_H
