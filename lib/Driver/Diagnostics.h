//===- Diagnostics.h - MLIR's diagnostics on the console ------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_DIAGNOSTICS_H
#define MOE_MLIR_LIB_DRIVER_DIAGNOSTICS_H

#include "Console.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

namespace moe_mlir {

/// A location for people: "file.py:12" and the names of what stands there, as far as known.
std::string describe(mlir::Location location);

/// Keeps the context's diagnostics while it lives and prints errors (with their notes) and warnings to the console: each
/// text once, the first few only.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(mlir::MLIRContext &context, Console &console, bool verbose);
  ~DiagnosticPrinter();

  bool sawError() const { return errors > 0; }
  /// Whether the first error is one of the command line (Support/UserFault.h).
  bool isUserFault() const { return firstIsUserFault; }
  /// Whether the first error is one that the verifier has of `op` now. Says nothing.
  bool isFromVerifier(mlir::Operation *op) const;
  /// The file of a model, whose locations name the model's own code: errors begin with it.
  void setModel(llvm::StringRef path) { model = path.str(); }

private:
  void print(mlir::Diagnostic &diagnostic);

  mlir::MLIRContext &context;
  Console &console;
  mlir::DiagnosticEngine::HandlerID handler;
  bool verbose;
  unsigned errors = 0;
  bool firstIsUserFault = false;
  std::string model, lastError, firstError; ///< the first one without its place
  llvm::StringSet<> warnings;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_DIAGNOSTICS_H
