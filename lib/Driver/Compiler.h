//===- Compiler.h - one run of the compiler -------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_COMPILER_H
#define MOE_MLIR_LIB_DRIVER_COMPILER_H

#include "Console.h"
#include "Input.h"
#include "Outputs.h"

#include "moe-mlir/Pipelines/Pipelines.h"
#include "moe-mlir/Report/Report.h"
#include "moe-mlir/Target/Executable.h"
#include "moe-mlir/Target/Object.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/Timing.h"

namespace moe_mlir {

/// One run of the compiler: reads (Compile.cpp), lowers level by level, and makes the program (MakeProgram.cpp).
/// Functions that return int give an exit code; messages have been printed.
class Compiler {
public:
  explicit Compiler(const CompileOptions &options);
  int run();

private:
  // Compile.cpp
  int checkTarget();
  int read();
  /// Of an input at level kernel or later, the attribute `kernel.target` says what it is for.
  int readTarget();
  int compareCpu();
  int extractLayers();
  int lower(Level target);
  int runPasses(llvm::StringRef phase, const std::string &pipeline, const std::string &command, mlir::ModuleOp module);
  int reached(Level level);
  int dump(mlir::ModuleOp module, llvm::StringRef suffix);
  int prepareReport();
  int printReport();

  // MakeProgram.cpp
  /// Looks for what a program is made with before the work begins.
  int findTools();
  int findLinkJob();
  int makeProgram();
  int compileKernels(CudaCode &code);
  int emitObject(const std::string &path, llvm::ArrayRef<ProgramModule> programs);

  unsigned arrowsTo(Level target) const {
    return target > input.level ? static_cast<int>(target) - static_cast<int>(input.level) : 0;
  }
  std::string outputPath() const;
  int fail(llvm::Error error, int code = kUserError) {
    console.error(llvm::toString(std::move(error)));
    return code;
  }

  const CompileOptions &options;
  Console console;
  mlir::DefaultTimingManager timing;
  mlir::TimingScope timingRoot;
  mlir::MLIRContext context;
  DiagnosticPrinter diagnostics;
  Input input;
  bool importing = false; ///< the passes that run see what a .pt2 file says, with nothing checked but its form
  std::string gpu;        ///< what kernels are for, as NVRTC calls it; empty: the CPU
  std::string cpu;        ///< what other code is for: LLVM's name of a CPU, or "native"
  /// With a GPU as target: the same program for the CPU, from level kernel on.
  mlir::OwningOpRef<mlir::ModuleOp> forCpu;
  LinkJob job;
  std::unique_ptr<Nvrtc> nvrtc;
  std::optional<Report> counted;
  std::optional<PendingText> report; ///< what was counted, as text
};

/// A module as text, without locations.
std::string textOf(mlir::ModuleOp module);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_COMPILER_H
