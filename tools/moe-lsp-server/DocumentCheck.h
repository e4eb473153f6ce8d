//===- DocumentCheck.h - documents that a parser survives ---------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_TOOLS_MOE_LSP_SERVER_DOCUMENTCHECK_H
#define MOE_MLIR_TOOLS_MOE_LSP_SERVER_DOCUMENTCHECK_H

namespace moe_mlir {

/// From here on the standard input holds, in place of a document that MLIR's parser would not survive, a text of one
/// line, for which the server reports what is wrong at the place where it is wrong.
void checkDocuments();

} // namespace moe_mlir

#endif // MOE_MLIR_TOOLS_MOE_LSP_SERVER_DOCUMENTCHECK_H
