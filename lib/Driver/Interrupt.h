//===- Interrupt.h - signals: Ctrl-C leaves nothing behind ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_INTERRUPT_H
#define MOE_MLIR_LIB_DRIVER_INTERRUPT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace moe_mlir {

/// While one lives, an interrupt waits: files that belong together are moved together.
class InterruptsHeld {
public:
  InterruptsHeld();
  ~InterruptsHeld();

  /// Also one that waits has no effect any more: all outputs are in their places.
  void workIsDone();
};

/// Makes a folder that an interrupted or crashed process removes; `name` ends with XXXXXX, which are filled in. No
/// signal comes between the two. False, with errno, if it cannot be made.
bool makeScratchFolder(char *name);
void removeScratchFolder(const std::string &path);

/// What a crash report needs: the phase, and the IR that it started from (kept until the next call).
void setCrashContext(std::string phase, std::string command, std::string ir);

/// Writes the crash context as a file that moe-compile can read, and says so. For internal errors that are noticed;
/// crashes do the same by themselves.
void reportInternalError(llvm::StringRef what);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_INTERRUPT_H
