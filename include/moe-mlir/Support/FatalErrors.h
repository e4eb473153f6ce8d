//===- FatalErrors.h - LLVM's fatal errors as messages of a tool ----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_FATALERRORS_H
#define MOE_MLIR_SUPPORT_FATALERRORS_H

namespace moe_mlir {

/// Gives LLVM's fatal errors the form of all others: a line that begins with the tool's name. Most of them come from a
/// stream that is destroyed with an error that nobody looked at, on a full disk for example: exit code 1. The others
/// are faults of the tool: exit code 70. Where memory or threads are limited, to get none is an error like that of a
/// stream. Before the end `atEnd` is called, with what LLVM says, or with null for those errors. Call it before the
/// first stream is written.
void handleFatalErrors(const char *tool, void (*atEnd)(const char *internalError) = nullptr);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_FATALERRORS_H
