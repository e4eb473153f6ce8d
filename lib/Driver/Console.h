//===- Console.h - what the compiler says while it works ------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_CONSOLE_H
#define MOE_MLIR_LIB_DRIVER_CONSOLE_H

#include "moe-mlir/Driver/Driver.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

#include <chrono>

namespace moe_mlir {

/// Progress by phase and messages, on standard error. A line per phase, written when it ends; on a terminal the running
/// phase is shown too.
class Console {
public:
  Console(ProgressMode mode, bool quiet);
  ~Console();

  /// Number of phases of the run, known once the input is.
  void setPhases(unsigned number) { phases = number; }
  void begin(std::string phase);
  /// Shows how far the running phase is, on a terminal.
  void update(unsigned percent);
  void end();
  /// Total time, as the last line.
  void finish(const llvm::Twine &what);

  void error(const llvm::Twine &text);
  /// Not where only errors are wanted.
  void warning(const llvm::Twine &text);
  void note(const llvm::Twine &text);
  void remark(const llvm::Twine &text);

private:
  using Clock = std::chrono::steady_clock;
  void clear();
  std::string number() const;

  bool quiet, lines, live;
  unsigned phases = 0, current = 0, shown = ~0u;
  std::string phase;
  Clock::time_point start = Clock::now(), phaseStart;
};

/// A location for people: "file.py:12" and the names of what stands there, as far as known.
std::string describe(mlir::Location location);

/// Keeps the context's diagnostics while it lives and prints errors (with their notes) and warnings to the console: each
/// text once, the first few only.
class DiagnosticPrinter {
public:
  DiagnosticPrinter(mlir::MLIRContext &context, Console &console, bool verbose);
  ~DiagnosticPrinter();

  bool sawError() const { return errors > 0; }
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
  std::string model, lastError, firstError; ///< the first one without its place
  llvm::StringSet<> warnings;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_CONSOLE_H
