//===- Support.h - errors and JSON of the .pt2 reader ---------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_SUPPORT_H
#define MOE_MLIR_LIB_IMPORT_PT2_SUPPORT_H

#include "moe-mlir/Import/Pt2.h"

#include "moe-mlir/Support/UntrustedJson.h"
#include "llvm/ADT/Twine.h"

namespace moe_mlir::pt2 {

inline llvm::Error inputError(const llvm::Twine &message) {
  return llvm::make_error<ImportError>(ImportErrorKind::Input, message.str());
}
inline llvm::Error unsupportedError(const llvm::Twine &message) {
  return llvm::make_error<ImportError>(ImportErrorKind::Unsupported, message.str());
}

/// Parses JSON that nobody vouches for (see UntrustedJson.h). `what` names the text in messages.
llvm::Expected<JsonDocument> parseJson(llvm::StringRef text, llvm::StringRef what);

/// The name in `{"name": ...}`, or in `{"as_tensor": {"name": ...}}`.
std::optional<llvm::StringRef> getName(const JsonObject *object);

/// The field of a union, which is an object with one field.
std::pair<llvm::StringRef, const JsonValue *> getAlternative(const JsonObject &object);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_SUPPORT_H
