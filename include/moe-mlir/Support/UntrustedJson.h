//===- UntrustedJson.h - JSON that nobody vouches for ---------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_UNTRUSTEDJSON_H
#define MOE_MLIR_SUPPORT_UNTRUSTEDJSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace moe_mlir {

/// `text` for a message: bytes outside printable ASCII escaped, at most 80 characters.
std::string printable(llvm::StringRef text);

/// Parses JSON of a file. `llvm::json` recurses and would overflow the stack on deep nesting, and it lets the last of
/// several equal keys win; a linear scan refuses both first, as well as NaN and Infinity outside strings. Errors are
/// one line without the name of the text.
llvm::Expected<llvm::json::Value> parseUntrustedJson(llvm::StringRef text);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_UNTRUSTEDJSON_H
