//===- InputText.h - a look at a tool's input before a parser has one -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_INPUTTEXT_H
#define MOE_MLIR_SUPPORT_INPUTTEXT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace moe_mlir {

/// Whether a parser survives the text of a file, of a pipe, or of the standard input (`-`). It can be read again behind
/// this: of a named pipe, `path` becomes the name of a copy in memory. Says why not (checkIrText, UntrustedIr.h).
/// Bytecode is as good as the tool that wrote it, and not looked at.
bool mayBeParsed(std::string &path);

/// The arguments of a program, with those of a file in place of `@FILE`, as LLVM's tools read them. They live as long
/// as the program.
llvm::SmallVector<const char *> expandedArguments(int argc, char **argv);

/// Whether `output` is another file than the inputs and those that other arguments name, as in
/// `-moe-schedule=cluster=2xFILE`, by whatever name; says so if not. LLVM's tools empty the output while the input is
/// mapped, and remove it when they fail.
bool mayBeWritten(llvm::StringRef output, llvm::ArrayRef<std::string> inputs, llvm::ArrayRef<const char *> arguments);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_INPUTTEXT_H
