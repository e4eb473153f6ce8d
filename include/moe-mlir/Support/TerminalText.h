//===- TerminalText.h - text that a terminal shows and does not obey ------------------------------------*- C++ -*-===//
//
// Names come from files that somebody else has made, and a terminal obeys control characters in them: it would show
// other messages than were written.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SUPPORT_TERMINALTEXT_H
#define MOE_MLIR_SUPPORT_TERMINALTEXT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace moe_mlir {

/// `text` with its control characters escaped (ASCII's, C1 and marks of direction), all else as it is. A tab stays, and
/// the end of a line unless it is a name, which has none.
std::string forTerminal(llvm::StringRef text, bool isName = false);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_TERMINALTEXT_H
