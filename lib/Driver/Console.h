//===- Console.h - what the compiler says while it works ------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_CONSOLE_H
#define MOE_MLIR_LIB_DRIVER_CONSOLE_H

#include "moe-mlir/Driver/Driver.h"

#include "llvm/ADT/Twine.h"

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

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_CONSOLE_H
