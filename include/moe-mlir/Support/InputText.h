//===- InputText.h - a look at a tool's input before a parser has one -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_INPUTTEXT_H
#define MOE_MLIR_SUPPORT_INPUTTEXT_H

#include "llvm/ADT/StringRef.h"

namespace moe_mlir {

/// Whether a parser survives the text of a file, or of the standard input (`-`), which can be read again behind this.
/// Says why not (checkIrText, UntrustedIr.h). Bytecode is as good as the tool that wrote it, and not looked at.
bool mayBeParsed(llvm::StringRef path);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_INPUTTEXT_H
