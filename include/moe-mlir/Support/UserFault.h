//===- UserFault.h - errors of the command line that only a pass can find --------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_USERFAULT_H
#define MOE_MLIR_SUPPORT_USERFAULT_H

#include "mlir/IR/Diagnostics.h"

namespace moe_mlir {

/// Marks an error of a pass: what the command line asks for does not fit the program. moe-compile ends with 1 then, and
/// with 2 after errors that are not marked, which say what is not supported.
mlir::InFlightDiagnostic asUserFault(mlir::InFlightDiagnostic error);

bool isUserFault(mlir::Diagnostic &diagnostic);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_USERFAULT_H
