//===- Compiler.h - one run of the compiler -------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DRIVER_COMPILER_H
#define MOE_MLIR_LIB_DRIVER_COMPILER_H

#include "Diagnostics.h"
#include "Input.h"
#include "Outputs.h"
#include "Remarks.h"
#include "WeightsFile.h"

#include "moe-mlir/Pipelines/AutoParallel.h"
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
  /// The input's attribute `kernel.target` says what it is for; the command line must not say anything else.
  int readTarget();
  int compareCpu();
  int checkLevels();
  /// Beginning of the message if it does.
  std::string inputIsFor() const;
  int extractLayers();
  int lower(Level target);
  int runPasses(llvm::StringRef phase, const std::string &pipeline, const std::string &command, mlir::ModuleOp module);
  int reached(Level level);
  int dump(mlir::ModuleOp module, llvm::StringRef suffix);
  /// Counts what the report says, while the launches can be read.
  int prepareReport();
  /// Adds the report to the outputs, and puts all of them in their places.
  int finish(Outputs &outputs);

  // ChooseParallel.cpp
  /// With --parallel=auto, decides how the program is divided. With --report and a cluster, estimates what is decided.
  int chooseParallel();
  void describeChoice(llvm::ArrayRef<Alternative> all);

  // Scheduling.cpp
  /// The flag that is given of those that schedules are decided by.
  std::string schedulingFlag() const;
  /// Refuses such a flag where nothing is decided.
  int checkScheduling();
  /// Refuses --windows where no exchange is cut.
  int checkWindows();
  /// At level scheduled: warns if no layer could be scheduled; with --report, keeps what each one takes.
  void reviewSchedules();

  // Variants.cpp
  /// Whether the command line's variants are some, and belong together.
  int checkVariants();
  /// Whether the target can run those of the input.
  int checkVariantTarget();
  /// As an option of moe-partition.
  std::string variantTexts() const;

  // PlanFiles.cpp
  /// The names of all files that are written.
  std::string outputPath() const;
  std::string archivePath(llvm::StringRef suffix) const;
  std::string dumpPath(Level level, llvm::StringRef suffix) const;
  /// Compares all files that the command line and the module name, before the first one is written.
  int planFiles();

  // PlainLayers.cpp
  std::string missing(mlir::moe::LayerKind kind);
  int reviewLayers();

  // MakeProgram.cpp
  /// Looks for what a program is made with before the work begins.
  int findTools();
  int findLinkJob();
  int failLink(llvm::Error error);
  int makeProgram();
  int compileKernels(CudaCode &code);
  void warnOfCache(llvm::StringRef warning);
  /// Writes what `job` links: scratch files, or the object itself in place of the program. `text` is that of the last
  /// program, for the report of a crash.
  int emitObjects(llvm::ArrayRef<ProgramModule> programs, std::string text, Outputs &outputs, const std::string &program);

  /// Whether a way to divide the program is chosen first, which is a phase of its own.
  bool choosesParallel() const;
  unsigned arrowsTo(Level target) const {
    return target > input.level ? static_cast<int>(target) - static_cast<int>(input.level) : 0;
  }
  int fail(llvm::Error error, int code = kUserError) {
    console.error(llvm::toString(std::move(error)));
    return code;
  }

  const CompileOptions &options;
  Console console;
  mlir::DefaultTimingManager timing;
  mlir::TimingScope timingRoot;
  RemarkLog remarks;
  mlir::MLIRContext context;
  DiagnosticPrinter diagnostics;
  Input input;
  WeightsFile weights;
  std::vector<mlir::moe::PlainLayer> plain; ///< layers of the input that have no op of their own
  bool importing = false; ///< the passes that run see what a .pt2 file says, with nothing checked but its form
  std::string gpu;        ///< what kernels are for, as NVRTC calls it; empty: the CPU
  std::string cpu;        ///< what other code is for: LLVM's name of a CPU, or "native"
  /// With a GPU as target: the same program for the CPU, from level kernel on.
  mlir::OwningOpRef<mlir::ModuleOp> forCpu;
  LinkJob job;
  std::unique_ptr<Nvrtc> nvrtc;
  bool warnedOfCache = false;
  std::string parallel, cluster; ///< as of the options, or what was chosen
  std::optional<ParallelReport> division; ///< with --report
  std::vector<ScheduleReport> schedules; ///< with --report, from level scheduled on
  std::optional<Report> counted; ///< with --report, from level kernel on
};

/// A module as text, without locations.
std::string textOf(mlir::ModuleOp module);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_DRIVER_COMPILER_H
