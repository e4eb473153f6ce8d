//===- UserFault.cpp - errors of the command line that only a pass can find -----------------------------------------===//

#include "moe-mlir/Support/UserFault.h"

#include "llvm/ADT/STLExtras.h"

static constexpr llvm::StringRef kMark = "moe.user_fault";

mlir::InFlightDiagnostic moe_mlir::asUserFault(mlir::InFlightDiagnostic error) {
  error.getUnderlyingDiagnostic()->getMetadata().emplace_back(kMark);
  return error;
}

bool moe_mlir::isUserFault(mlir::Diagnostic &diagnostic) {
  return llvm::any_of(diagnostic.getMetadata(), [](const mlir::DiagnosticArgument &argument) {
    return argument.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::String &&
           argument.getAsString() == kMark;
  });
}
