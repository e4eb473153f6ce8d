//===- OwnName.h - what the language server calls itself ------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_TOOLS_MOE_LSP_SERVER_OWNNAME_H
#define MOE_MLIR_TOOLS_MOE_LSP_SERVER_OWNNAME_H

namespace moe_mlir {

/// MLIR's server has its own name built in, and there is no way to give it another one. From here on, text for standard
/// output passes through a thread that puts this server's name in its place, in the help and in the answer to
/// `initialize`.
void useOwnName();

} // namespace moe_mlir

#endif // MOE_MLIR_TOOLS_MOE_LSP_SERVER_OWNNAME_H
