//===- Compile.cpp - from an exported model to level runtime, level by level -------------------------------------===//

#include "Compiler.h"
#include "Interrupt.h"
#include "moe-mlir/Dialect/Kernel/IR/CpuTarget.h"
#include "moe-mlir/Dialect/Kernel/IR/CudaTarget.h"
#include "moe-mlir/InitAll.h"
#include "moe-mlir/Target/Executable.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
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
      diagnostics(context, console, options.verbose), cpu(options.targetCpu.value_or("native")) {
  context.printOpOnDiagnostic(options.verbose);
  timing.setEnabled(options.timing);
  timingRoot = timing.getRootScope();
}

/// Without locations: the text is for people to read and change, and messages about it should point into it.
static void print(mlir::ModuleOp module, raw_ostream &os) {
  module.print(os);
  os << "\n";
}

std::string moe_mlir::textOf(mlir::ModuleOp module) {
  std::string result;
  raw_string_ostream os(result);
  print(module, os);
  return result;
}

std::string Compiler::outputPath() const {
  if (!options.output.empty())
    return options.output;
  StringRef stem = options.input == "-" ? "model" : sys::path::stem(options.input);
  switch (options.emit) {
  case Emit::Library:
    return ("lib" + stem + ".so").str();
  case Emit::Object:
    return (stem + ".o").str();
  case Emit::Executable:
    break;
  }
  return stem.str();
}

/// Writes DIR/<number>_<level><suffix>.mlir if intermediates are wanted.
int Compiler::dump(mlir::ModuleOp module, StringRef suffix) {
  if (options.dumpFolder.empty())
    return kOk;
  std::error_code error = sys::fs::create_directories(options.dumpFolder);
  if (!error && !sys::fs::is_directory(options.dumpFolder)) // what exists may be anything
    error = std::make_error_code(std::errc::not_a_directory);
  if (error) {
    console.error("cannot create folder '" + options.dumpFolder + "': " + error.message());
    return kUserError;
  }
  std::string path = options.dumpFolder + "/" + std::to_string(static_cast<int>(input.level)) + "_" +
                     levelName(input.level).str() + suffix.str() + ".mlir";
  if (Error error = writeText(path, [&](raw_ostream &os) { print(module, os); }))
    return fail(std::move(error));
  return kOk;
}

/// Counts while the launches can be read; the report appears together with the output.
int Compiler::prepareReport() {
  mlir::FailureOr<Report> made = makeReport(*input.module);
  if (failed(made))
    return kUserError;
  counted = std::move(*made);
  return printReport();
}

/// Anew, if it was printed before.
int Compiler::printReport() {
  report.reset();
  Expected<PendingText> pending = PendingText::create(*options.report, [&](raw_ostream &os) {
    StringRef(*options.report).ends_with(".json") ? printReportJson(*counted, os) : printReportTable(*counted, os);
  });
  if (!pending)
    return fail(pending.takeError());
  report = std::move(*pending);
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
  if (succeeded(pm.run(module)))
    return kOk;
  // A pass that gives up leaves valid IR behind and has said what it does not support.
  if (diagnostics.sawError() && succeeded(mlir::verify(module)))
    return kUnsupported;
  // Operators are taken at the word of the graph, which gives the type of every value: if an op's verifier objects to
  // them, the graph contradicts itself.
  if (diagnostics.sawError() && importing) {
    console.note("the graph of '" + options.input + "' gives this operator types that it cannot have");
    return kUserError;
  }
  reportInternalError(diagnostics.sawError() ? "a pass left invalid IR" : "a pass failed without a message");
  return kInternal;
}

/// Of a model, what the target can run: all of it, or its MoE layers.
int Compiler::extractLayers() {
  const bool isModel = !isIr(options.input);
  Entry entry = options.entry.value_or(isModel && !gpu.empty() ? Entry::Layers : Entry::Main);
  if (entry == Entry::Layers) {
    const std::string passes = "moe-extract-layers,canonicalize,cse,moe-verify-level{level=graph}";
    return runPasses("extract layers", passes, "moe-opt --pass-pipeline='builtin.module(" + passes + ")'",
                     *input.module);
  }
  return kOk;
}

/// Kernels keep the CPU that they were made for: another one that is asked for would have no effect.
int Compiler::compareCpu() {
  std::string message;
  auto made = mlir::kernel::CpuTarget::get(*input.module);
  if (failed(made))
    return kUserError;
  auto wanted = mlir::kernel::CpuTarget::forCpu(cpu, message);
  if (failed(wanted)) {
    console.error(message);
    return kUnsupported;
  }
  if (made->cpu == wanted->cpu && made->features == wanted->features)
    return kOk;
  auto name = [](const mlir::kernel::CpuTarget &target) {
    return target.cpu + (target.features.empty() ? "" : " with " + target.features);
  };
  console.error("'" + options.input + "' is at level " + levelName(input.level) + " for " + name(*made) +
                ", but --target-cpu says " + cpu + (cpu == "native" ? " (" + name(*wanted) + ")" : "") +
                "; leave it out, or start from an earlier level");
  return kUserError;
}

int Compiler::readTarget() {
  mlir::Attribute attr = input.module.get()->getAttr(mlir::kernel::CpuTarget::attrName);
  if (input.level < Level::Kernel || !attr)
    return kOk;
  const bool isCuda = mlir::kernel::CudaTarget::isCuda(attr);
  if (!options.target.empty() && isCuda == gpu.empty()) {
    console.error("'" + options.input + "' is at level " + levelName(input.level) + " for " +
                  (isCuda ? "a GPU" : "the CPU") + ", but --target says " + options.target);
    return kUserError;
  }
  if (!isCuda)
    return options.targetCpu ? compareCpu() : kOk;
  auto target = mlir::kernel::CudaTarget::fromAttr(input.module.get()->getLoc(), attr);
  if (failed(target))
    return kUserError;
  gpu = target->arch;
  return kOk;
}

int Compiler::read() {
  console.begin("read " + sys::path::filename(options.input).str());
  const bool ir = isIr(options.input);
  if (int status = ir ? readIr(options.input, options.from, context, console, input)
                      : readPt2(options.input, context, console, input))
    return status;
  if (int status = readTarget())
    return status;
  unsigned lowering = arrowsTo(options.to.value_or(Level::Runtime));
  console.setPhases(1 + !ir + lowering + (options.to ? 0 : 2 + (options.emit != Emit::Object) + !gpu.empty()));
  if (ir) {
    if (int status = input.level == Level::Graph ? extractLayers() : kOk)
      return status;
    return reached(input.level);
  }
  console.end();
  console.begin("import to graph");
  importing = true;
  if (int status = runPasses("import to graph", importPipeline(), "moe-opt --pass-pipeline='" + importPipeline() + "'",
                             *input.module))
    return status;
  importing = false;
  if (int status = extractLayers())
    return status;
  return reached(Level::Graph);
}

int Compiler::lower(Level target) {
  while (input.level < target) {
    Level next = static_cast<Level>(static_cast<int>(input.level) + 1);
    std::string phase = ("lower to " + levelName(next)).str();
    std::string command = ("moe-compile --from=" + levelName(input.level) + " --to=" + levelName(next)).str();
    if (input.level < Level::Kernel)
      command += " --target-cpu=" + cpu;
    console.begin(phase);
    // Up to here programs for both devices are the same.
    if (next == Level::Kernel && !gpu.empty())
      forCpu = input.module.get().clone();
    std::string gpuFlag = gpu.empty() ? "" : " --target=cuda:" + gpu;
    if (int status = runPasses(phase, arrowPipeline(input.level, {cpu, gpu}), command + gpuFlag, *input.module))
      return status;
    if (forCpu)
      if (int status = runPasses(phase + " for the CPU", arrowPipeline(input.level, {cpu, ""}), command, *forCpu))
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
  if (!mlir::kernel::CpuTarget::isKnown(cpu)) {
    (void)mlir::kernel::CpuTarget::forCpu(cpu, message);
    console.error(message);
    return kUserError;
  }
  StringRef target = options.target;
  if (target.empty() || target == "cpu")
    return kOk;
  if (!target.consume_front("cuda:")) {
    console.error("unknown target '" + options.target + "' in --target; cpu or cuda:sm_90a");
    return kUserError;
  }
  if (failed(mlir::kernel::CudaTarget::forArch(target, message))) {
    console.error(message);
    return kUnsupported;
  }
  gpu = target.str();
  if (options.entry != Entry::Main || isIr(options.input))
    return kOk;
  console.error(
      "a whole model does not run on a GPU in this release: leave out --entry=main to compile its MoE layers, or "
      "use --target=cpu");
  return kUnsupported;
}

int Compiler::run() {
  if (int status = checkTarget())
    return status;
  if (int status = read())
    return status;
  Level target = options.to.value_or(Level::Runtime);
  if (target < input.level) {
    console.error("--to=" + levelName(target) + " comes before level " + levelName(input.level) + " of the input");
    return kUserError;
  }
  if (options.report && input.level > Level::Kernel) {
    console.error("--report describes level kernel; the input is at level " + levelName(input.level) + " already");
    return kUserError;
  }
  if (int status = options.to ? kOk : findTools())
    return status;
  if (int status = lower(target))
    return status;
  if (!options.to)
    return makeProgram();
  auto text = [&](raw_ostream &os) { print(*input.module, os); };
  if (Error error = writeText(options.output.empty() ? "-" : options.output, text))
    return fail(std::move(error));
  noteOutputWritten();
  if (report)
    if (Error error = report->commit())
      return fail(std::move(error));
  return kOk;
}

int moe_mlir::compile(const CompileOptions &options) {
  handleInterrupts();
  registerAllPasses();
  return Compiler(options).run();
}
