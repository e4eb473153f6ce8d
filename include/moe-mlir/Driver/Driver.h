//===- Driver.h - from an exported model to an executable -----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DRIVER_DRIVER_H
#define MOE_MLIR_DRIVER_DRIVER_H

#include "moe-mlir/Dialect/Moe/IR/PlainLayers.h"
#include "moe-mlir/Pipelines/Levels.h"
#include "moe-mlir/Target/Executable.h"

#include <optional>
#include <string>
#include <vector>

namespace moe_mlir {

/// Exit codes of moe-compile; to the last one the number of the signal is added.
enum ExitCode { kOk = 0, kUserError = 1, kUnsupported = 2, kInternal = 70, kSignalled = 128 };

/// What of a model is compiled: `@main`, or each of its MoE layers as `@layerN_moe`.
enum class Entry { Main, Layers };

enum class ProgressMode { Auto, Plain, None };

/// What the command line of moe-compile says.
struct CompileOptions {
  std::string tool;   ///< argv[0], to find the runtime beside it.
  std::string input;  ///< .pt2, or IR as text or bytecode.
  std::string output; ///< Empty: named after the input. "-" is standard output (with `to`).
  Emit emit = Emit::Executable;
  std::string target;                   ///< "cpu" or "cuda:ARCH"; empty: what the input says, or the CPU.
  std::optional<std::string> targetCpu; ///< None: what the input says, or this machine.
  std::string parallel;                 ///< "ep=4,tokens=split,groups=8" (Parallel.h); empty: as the input says.
  std::vector<std::string> variants;    ///< Other ways to divide it (Variants.h); with `parallel`.
  std::string cluster;                  ///< "8xH200" (LayerTimes.h); empty: that of the target, if it is a GPU.
  int64_t scheduleTokens = 0;           ///< Of all ranks together; 0: those of the input, or as LayerTimes.h says.
  int64_t windows = 0;                  ///< Bytes of a rank's windows, at most; 0: as graph-cut-exchanges says.
  Entry entry = Entry::Main;
  std::optional<Level> from;            ///< Level of an IR input; none: what the file says.
  std::optional<Level> to;              ///< Print the IR of this level instead of making a program.
  std::string dumpFolder;               ///< Empty: no intermediates.
  std::optional<std::string> report; ///< Describe level kernel: a table, or JSON in a .json file. "-": standard output.
  std::string weights;               ///< Empty: the file that the module names. "none": they are made at run time.
  std::vector<mlir::moe::LayerKind> require; ///< Refuse a program where such a layer stayed plain, or that has none.
  ProgressMode progress = ProgressMode::Auto;
  bool quiet = false, verbose = false, timing = false;
};

/// Takes over the signals that end a process from outside, such as SIGINT and SIGTERM: a thread of its own waits for
/// them, removes the folders of unfinished output and ends the process with 128 and the signal's number. A file size
/// limit becomes an ordinary error of the write, and so does a closed standard output; fatal errors of LLVM become
/// messages. Call it first.
void handleInterrupts();

/// Sees to the stack that compilation takes, of this thread and of those that are started. False: a limit does not allow
/// it, which has been said. An overflow would be a crash, with nothing that tells it from a fault of the compiler.
bool takeStack();

/// Compiles. All messages have been printed when it returns, and on failure nothing was written under a final name.
int compile(const CompileOptions &options);

} // namespace moe_mlir

#endif // MOE_MLIR_DRIVER_DRIVER_H
