//===- Compile.cpp - from an exported model to level runtime, level by level -------------------------------------===//

#include "Compiler.h"
#include "Interrupt.h"
#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/InitAll.h"
#include "moe-mlir/Pipelines/Targets.h"
#include "moe-mlir/Target/Executable.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace moe_mlir;

static mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

Compiler::Compiler(const CompileOptions &options)
    : options(options), console(options.progress, options.quiet), context(makeRegistry()),
      diagnostics(context, console, options.verbose), cpu(options.targetCpu.value_or("native")),
      parallel(options.parallel), cluster(options.cluster) {
  context.printOpOnDiagnostic(options.verbose);
  if (options.verbose)
    remarks.install(context);
  timing.setEnabled(options.timing);
  timingRoot = timing.getRootScope();
}

/// Without locations: the text is for people to read and change, and messages about it should point into it. Passes have
/// verified the module.
static void print(mlir::ModuleOp module, raw_ostream &os) {
  module.print(os, mlir::OpPrintingFlags().assumeVerified());
  os << "\n";
}

std::string moe_mlir::textOf(mlir::ModuleOp module) {
  std::string result;
  raw_string_ostream os(result);
  print(module, os);
  return result;
}

/// Writes DIR/<number>_<level><suffix>.mlir if intermediates are wanted.
int Compiler::dump(mlir::ModuleOp module, StringRef suffix) {
  if (options.dumpFolder.empty())
    return kOk;
  // As open to others as any folder that is made here: the umask says.
  if (std::error_code error = sys::fs::create_directories(options.dumpFolder, true, sys::fs::all_all)) {
    console.error("cannot create folder '" + options.dumpFolder + "': " + error.message());
    return kUserError;
  }
  if (Error error = writeText(dumpPath(input.level, suffix), [&](raw_ostream &os) { print(module, os); }))
    return fail(std::move(error));
  return kOk;
}

int Compiler::prepareReport() {
  mlir::FailureOr<Report> made = makeReport(*input.module);
  if (failed(made))
    return kUserError;
  counted = std::move(*made);
  counted->plain = plain;
  counted->schedules = std::move(schedules);
  counted->division = std::move(division);
  return kOk;
}

int Compiler::finish(Outputs &outputs) {
  auto printReport = [&](raw_ostream &os) {
    StringRef(*options.report).ends_with(".json") ? printReportJson(*counted, os) : printReportTable(*counted, os);
  };
  if (counted)
    if (Error error = outputs.addText(*options.report, printReport))
      return fail(std::move(error));
  if (Error error = outputs.commit(/*isLast=*/true))
    return fail(std::move(error));
  return kOk;
}

int Compiler::reached(Level level) {
  input.level = level;
  console.end();
  if (int status = dump(*input.module, ""))
    return status;
  if (forCpu)
    if (int status = dump(*forCpu, ".cpu"))
      return status;
  if (level == Level::Scheduled)
    reviewSchedules();
  return options.report && level == Level::Kernel ? prepareReport() : kOk;
}

int Compiler::runPasses(StringRef phase, const std::string &pipeline, const std::string &command,
                        mlir::ModuleOp module) {
  setCrashContext(phase.str(), command, textOf(module));
  mlir::PassManager pm(&context);
  mlir::TimingScope scope = timingRoot.nest(phase);
  if (options.timing)
    pm.enableTiming(scope);
  if (failed(mlir::parsePassPipeline(pipeline, pm))) {
    reportInternalError("a pass is not registered");
    return kInternal;
  }
#ifdef NDEBUG
  // A .pt2 file may contradict itself, which each pass of the import can bring to light. In later phases the verifier finds faults of the compiler only.
  // There it runs once, at the end: behind every pass it takes up to a third of the time where machine code is cached.
  pm.enableVerifier(importing);
#endif
  const bool passed = succeeded(pm.run(module)) && (importing || succeeded(mlir::verify(module)));
  remarks.flush(console);
  if (passed)
    return kOk;
  // A pass that gives up has said what it does not support; what it leaves half done is nobody's any more. Behind a
  // pass that left invalid IR it is the verifier that speaks first.
  if (diagnostics.sawError() &&
      (succeeded(mlir::verify(module)) || (!importing && !diagnostics.isFromVerifier(module))))
    return diagnostics.isUserFault() ? kUserError : kUnsupported;
  // Operators are taken at the word of the graph, which gives the type of every value: if an op's verifier objects to
  // them, the graph contradicts itself, or a lowering is wrong. Only whether PyTorch runs it can tell.
  if (diagnostics.sawError() && importing) {
    console.note("the graph of '" + options.input + "' gives this operator types that it cannot have; if PyTorch runs the " +
                 "model, this is a bug of moe-compile");
    return kUserError;
  }
  reportInternalError(diagnostics.sawError() ? "a pass left invalid IR" : "a pass failed without a message");
  return kInternal;
}

/// Of a model, what was asked for: all of it, or its MoE layers.
int Compiler::extractLayers() {
  const bool isModel = !isIr(options.input);
  if (options.entry == Entry::Layers) {
    // A text has to keep to its level before anything canonicalizes it.
    const std::string level = "moe-verify-level{level=graph}";
    const std::string passes = (isModel ? "" : level + ",") + "moe-extract-layers,canonicalize,cse," + level;
    return runPasses("extract layers", passes, "moe-opt --pass-pipeline='builtin.module(" + passes + ")'",
                     *input.module);
  }
  return kOk;
}

std::string Compiler::inputIsFor() const {
  if (input.level < Level::Kernel)
    return "'" + options.input + "' has a 'kernel.target' for ";
  return "'" + options.input + "' is at level " + levelName(input.level).str() + " for ";
}

/// Kernels, and decisions about them, keep the CPU that they were made for, and what is to become kernels the one that it
/// says: another one that is asked for would have no effect.
int Compiler::compareCpu() {
  std::string message;
  auto made = mlir::kernel::targetOf(*input.module), wanted = makeTarget(&context, "cpu:" + cpu, message);
  if (!wanted) {
    console.error(message);
    return kUnsupported;
  }
  if (made.isCalled(cpu))
    return kOk;
  console.error(inputIsFor() + made.describe() + ", but --target-cpu says " + cpu +
                (cpu == "native" ? " (" + wanted.describe() + ")" : "") + "; leave it out, or " +
                (input.level < Level::Scheduled ? "remove the attribute" : "start from an earlier level"));
  return kUserError;
}

int Compiler::readTarget() {
  auto target = mlir::kernel::targetOf(*input.module);
  if (!target)
    return kOk;
  if (!options.target.empty() && target.isHost() != gpu.empty()) {
    console.error(inputIsFor() + (target.isHost() ? "the CPU" : "a GPU") + ", but --target says " + options.target);
    return kUserError;
  }
  if (target.isHost())
    return options.targetCpu ? compareCpu() : kOk;
  gpu = mlir::cast<mlir::cuda::TargetAttr>(target).getDevice().str();
  return kOk;
}

int Compiler::checkLevels() {
  if (options.to && *options.to < input.level) {
    console.error("--to=" + levelName(*options.to) + " comes before level " + levelName(input.level) + " of the input");
    return kUserError;
  }
  if (!options.parallel.empty() && input.level > Level::Graph) {
    console.error("--parallel divides a program of level graph among ranks; '" + options.input + "' is at level " +
                  levelName(input.level) + " already, and runs on the ranks that it names");
    return kUserError;
  }
  if (int status = checkWindows())
    return status;
  if (int status = checkScheduling())
    return status;
  if (options.report && input.level > Level::Kernel) {
    console.error("--report describes level kernel; the input is at level " + levelName(input.level) + " already");
    return kUserError;
  }
  return kOk;
}

int Compiler::read() {
  console.begin("read " + sys::path::filename(options.input).str());
  const bool ir = isIr(options.input);
  if (!ir && options.from) {
    console.error("--from says the level of IR, and '" + options.input + "' is an exported model");
    return kUserError;
  }
  if (!ir)
    diagnostics.setModel(options.input);
  if (int status = ir ? readIr(options.input, options.from, context, console, input)
                      : readPt2(options.input, context, console, input))
    return status;
  if (int status = readTarget())
    return status;
  if (int status = checkLevels())
    return status;
  if (int status = checkVariantTarget())
    return status;
  if (int status = weights.open(*input.module, options.weights, /*makesProgram=*/!options.to, console))
    return status;
  if (int status = planFiles())
    return status;
  unsigned lowering = arrowsTo(options.to.value_or(Level::Runtime));
  console.setPhases(1 + !ir + choosesParallel() + lowering + (options.to ? 0 : 2 + (options.emit != Emit::Object) + !gpu.empty()));
  if (ir) {
    if (int status = reviewLayers())
      return status;
    if (int status = input.level == Level::Graph ? extractLayers() : kOk)
      return status;
    // The arrows check where they begin, and none begins at the last level.
    if (input.level == Level::Runtime) {
      const std::string passes = "moe-verify-level{level=runtime}";
      if (int status = runPasses("check the level", passes, "moe-opt --pass-pipeline='builtin.module(" + passes + ")'",
                                 *input.module))
        return status;
    }
    return reached(input.level);
  }
  console.end();
  console.begin("import to graph");
  importing = true;
  if (int status = runPasses("import to graph", importPipeline(),
                             "moe-opt --pass-pipeline='builtin.module(" + importPipeline() + ")'", *input.module))
    return status;
  if (int status = reviewLayers())
    return status;
  importing = false;
  if (int status = extractLayers())
    return status;
  return reached(Level::Graph);
}

int Compiler::lower(Level target) {
  // What the module says already stands, edited or not (readTarget has compared it with the command line).
  PipelineOptions device;
  device.parallel = parallel;
  device.variants = variantTexts();
  device.cluster = cluster;
  device.scheduleTokens = options.scheduleTokens;
  device.windows = options.windows;
  PipelineOptions other{"cpu:" + cpu};
  other.windows = options.windows;
  std::string flags, cpuFlag = " --target-cpu=" + cpu;
  if (!input.module.get()->hasAttr(mlir::kernel::targetAttrName)) {
    device.target = gpu.empty() ? "cpu:" + cpu : "cuda:" + gpu;
    flags = gpu.empty() ? cpuFlag : " --target=cuda:" + gpu;
  }
  while (input.level < target) {
    Level next = static_cast<Level>(static_cast<int>(input.level) + 1);
    std::string phase = ("lower to " + levelName(next)).str();
    std::string command = ("moe-compile --from=" + levelName(input.level) + " --to=" + levelName(next)).str();
    const bool isChosen = input.level < Level::Scheduled; // later tiles are those of the device
    console.begin(phase);
    // Up to here programs for both devices are the same.
    if (next == Level::Scheduled && !gpu.empty()) {
      forCpu = input.module.get().clone();
      forCpu.get()->removeAttr(mlir::kernel::targetAttrName);
    }
    if (input.level == Level::Graph && !parallel.empty())
      command += " --parallel=" + parallel;
    for (const std::string &variant : options.variants)
      command += input.level == Level::Graph ? " --variant='" + variant + "'" : "";
    if (input.level == Level::Spmd && !cluster.empty())
      command += " --cluster=" + cluster;
    if (input.level == Level::Spmd && options.scheduleTokens)
      command += " --schedule-tokens=" + std::to_string(options.scheduleTokens);
    if (input.level == Level::Spmd && options.windows)
      command += " --windows=" + std::to_string(options.windows);
    if (int status =
            runPasses(phase, arrowPipeline(input.level, device), command + (isChosen ? flags : ""), *input.module))
      return status;
    if (forCpu)
      if (int status = runPasses(phase + " for the CPU", arrowPipeline(input.level, other),
                                 command + (isChosen ? cpuFlag : ""), *forCpu))
        return status;
    if (int status = reached(next))
      return status;
  }
  return kOk;
}

/// A name that means nothing is a slip of the command line, whatever the input is. A CPU that is too old is found by
/// the pass that needs to know.
int Compiler::checkTarget() {
  std::string message;
  if (!mlir::x86::TargetAttr::isKnown(cpu)) {
    (void)makeTarget(&context, "cpu:" + cpu, message);
    console.error(message);
    return kUserError;
  }
  StringRef target = options.target;
  if (target.empty() || target == "cpu")
    return kOk;
  if (!target.consume_front("cuda:")) {
    console.error("unknown target '" + options.target + "' in --target; " + targetNames());
    return kUserError;
  }
  if (!makeTarget(&context, options.target, message)) {
    console.error(message);
    return kUnsupported;
  }
  gpu = target.str();
  return kOk;
}

int Compiler::run() {
  if (int status = checkTarget())
    return status;
  if (int status = checkVariants())
    return status;
  if (int status = read())
    return status;
  if (int status = chooseParallel())
    return status;
  if (int status = options.to ? kOk : findTools())
    return status;
  if (int status = lower(options.to.value_or(Level::Runtime)))
    return status;
  if (!options.to)
    return makeProgram();
  Outputs outputs;
  if (Error error = outputs.addText(outputPath(), [&](raw_ostream &os) { print(*input.module, os); }))
    return fail(std::move(error));
  return finish(outputs);
}

int moe_mlir::compile(const CompileOptions &options) {
  registerAllPasses();
  return Compiler(options).run();
}
