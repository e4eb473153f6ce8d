//===- Compile.cpp - from an exported model to an executable, phase by phase --------------------------------------===//

#include "Console.h"
#include "Input.h"
#include "Interrupt.h"
#include "Outputs.h"
#include "ProgramWeights.h"
#include "moe-mlir/Dialect/Kernel/IR/CpuTarget.h"
#include "moe-mlir/Driver/Driver.h"
#include "moe-mlir/InitAll.h"
#include "moe-mlir/Pipelines/Pipelines.h"
#include "moe-mlir/Report/Report.h"
#include "moe-mlir/Target/Cpu.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Support/Timing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace moe_mlir;

namespace {

/// One run of the compiler.
class Compiler {
public:
  explicit Compiler(const CompileOptions &options)
      : options(options), console(options.progress, options.quiet), context(makeRegistry()),
        diagnostics(context, console, options.verbose) {
    context.printOpOnDiagnostic(options.verbose);
    timing.setEnabled(options.timing);
    timingRoot = timing.getRootScope();
  }

  int run();

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  int read();
  int lower(Level target);
  int runPasses(StringRef phase, const std::string &pipeline, const std::string &command);
  int reached(Level level);
  int dump();
  int prepareReport();
  int makeProgram();
  int checkTarget();
  int emitObject(const std::string &path, StringRef buildId, StringRef weightsName);

  unsigned arrowsTo(Level target) const {
    return target > input.level ? static_cast<int>(target) - static_cast<int>(input.level) : 0;
  }
  std::string outputPath() const;
  std::string text() const;
  void print(raw_ostream &os) const;
  int fail(Error error, int code = kUserError) {
    console.error(toString(std::move(error)));
    return code;
  }

  const CompileOptions &options;
  Console console;
  mlir::DefaultTimingManager timing;
  mlir::TimingScope timingRoot;
  mlir::MLIRContext context;
  DiagnosticPrinter diagnostics;
  Input input;
  std::optional<PendingText> report;
};

void Compiler::print(raw_ostream &os) const {
  // Without locations: the text is for people to read and change, and messages about it should point into it.
  input.module.get()->print(os);
  os << "\n";
}

std::string Compiler::text() const {
  std::string result;
  raw_string_ostream os(result);
  print(os);
  return result;
}

std::string Compiler::outputPath() const {
  if (!options.output.empty())
    return options.output;
  StringRef stem = options.input == "-" ? "model" : sys::path::stem(options.input);
  return options.emit == Emit::Library ? ("lib" + stem + ".so").str() : stem.str();
}

/// Writes DIR/<number>_<level>.mlir if intermediates are wanted.
int Compiler::dump() {
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
                     levelName(input.level).str() + ".mlir";
  if (Error error = writeText(path, [&](raw_ostream &os) { print(os); }))
    return fail(std::move(error));
  return kOk;
}

/// Counts while the launches can be read; the report appears together with the output.
int Compiler::prepareReport() {
  mlir::FailureOr<Report> counted = makeReport(*input.module);
  if (failed(counted))
    return kUserError;
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
  input.module.get()->setAttr(kLevelAttr, mlir::StringAttr::get(&context, levelName(level)));
  console.end();
  if (int status = dump())
    return status;
  return options.report && level == Level::Kernel ? prepareReport() : kOk;
}

int Compiler::runPasses(StringRef phase, const std::string &pipeline, const std::string &command) {
  setCrashContext(phase.str(), command, text());
  mlir::PassManager pm(&context);
  mlir::TimingScope scope = timingRoot.nest(phase);
  if (options.timing)
    pm.enableTiming(scope);
  if (failed(mlir::parsePassPipeline(pipeline, pm))) {
    reportInternalError("a pass is not registered");
    return kInternal;
  }
  if (succeeded(pm.run(*input.module)))
    return kOk;
  // A pass that gives up leaves valid IR behind and has said what it does not support.
  if (diagnostics.sawError() && succeeded(mlir::verify(*input.module)))
    return kUnsupported;
  reportInternalError(diagnostics.sawError() ? "a pass left invalid IR" : "a pass failed without a message");
  return kInternal;
}

int Compiler::read() {
  console.begin("read " + sys::path::filename(options.input).str());
  const bool ir = isIr(options.input);
  if (int status = ir ? readIr(options.input, options.from, context, console, input)
                      : readPt2(options.input, context, console, input))
    return status;
  unsigned lowering = arrowsTo(options.to.value_or(Level::Runtime));
  console.setPhases(1 + !ir + lowering + (options.to ? 0 : 3));
  if (ir)
    return reached(input.level);
  console.end();
  console.begin("import to graph");
  if (int status = runPasses("import to graph", importPipeline(), "moe-opt --pass-pipeline='" + importPipeline() + "'"))
    return status;
  return reached(Level::Graph);
}

int Compiler::lower(Level target) {
  while (input.level < target) {
    Level next = static_cast<Level>(static_cast<int>(input.level) + 1);
    std::string phase = ("lower to " + levelName(next)).str();
    std::string command = ("moe-compile --from=" + levelName(input.level) + " --to=" + levelName(next) +
                           " --target-cpu=" + options.targetCpu)
                              .str();
    console.begin(phase);
    if (int status = runPasses(phase, arrowPipeline(input.level, {options.targetCpu}), command))
      return status;
    if (int status = reached(next))
      return status;
  }
  return kOk;
}

int Compiler::emitObject(const std::string &path, StringRef buildId, StringRef weightsName) {
  CpuObjectOptions object;
  object.buildId = buildId.str();
  object.compiler = MOE_VERSION " (LLVM " LLVM_VERSION_STRING ")";
  object.targetCpu = options.targetCpu;
  object.weightsPath = weightsName.str();
  // The object stands in the folder of the program that the user asked for.
  auto cannotWrite = [&](std::error_code why) {
    console.error("cannot write '" + outputPath() + "': " + why.message());
    return kUserError;
  };
  std::error_code code;
  raw_fd_ostream os(path, code);
  if (code)
    return cannotWrite(code);
  setCrashContext("generate machine code", "moe-compile --from=runtime --target-cpu=" + options.targetCpu, text());
  mlir::TimingScope scope = timingRoot.nest("generate machine code");
  if (failed(moe_mlir::emitObject(*input.module, object, os)))
    return kUnsupported;
  os.close();
  code = os.error();
  os.clear_error();
  return code ? cannotWrite(code) : kOk;
}

/// Says which program this is: the same for equal IR, weights and compiler.
static std::string computeBuildId(StringRef ir, StringRef weightsId) {
  SHA256 hash;
  for (StringRef part : {ir, weightsId, StringRef("moe-compile " MOE_VERSION)}) {
    hash.update(part);
    hash.update(StringRef("\0", 1));
  }
  return toHex(hash.final(), /*LowerCase=*/true).substr(0, 32);
}

int Compiler::makeProgram() {
  const std::string final = outputPath(), finalWeights = final + ".weights";
  LinkJob job;
  Expected<std::string> linker = findLinker();
  if (!linker)
    return fail(linker.takeError());
  Expected<std::string> runtime = findRuntime(options.tool);
  if (!runtime)
    return fail(runtime.takeError(), kInternal);
  ProgramWeights weights;
  if (int status = weights.open(*input.module, options.weights, console))
    return status;
  Expected<std::unique_ptr<Outputs>> outputs = Outputs::create(final);
  if (!outputs)
    return fail(outputs.takeError());
  // The archive is moved to its place first: a program never stands there without its weights.
  Expected<std::string> weightsFile = (*outputs)->add(finalWeights);
  if (!weightsFile)
    return fail(weightsFile.takeError());
  Expected<std::string> program = (*outputs)->add(final);
  if (!program)
    return fail(program.takeError());

  const std::string buildId = computeBuildId(text(), weights.id());
  const std::string object = (*outputs)->scratch("program.o");
  console.begin("generate machine code");
  if (int status = emitObject(object, buildId, sys::path::filename(finalWeights)))
    return status;
  console.end();

  console.begin("pack weights");
  if (Error error = weights.write(*weightsFile, finalWeights, buildId, console))
    return fail(std::move(error));
  console.end();

  console.begin("link");
  job.emit = options.emit;
  job.linker = *linker;
  job.runtime = *runtime;
  job.object = object;
  job.output = *program;
  job.soname = sys::path::filename(final).str();
  if (Error error = link(job))
    return fail(std::move(error));
  if (Error error = (*outputs)->commit())
    return fail(std::move(error));
  if (report)
    if (Error error = report->commit())
      return fail(std::move(error));
  console.end();
  console.finish("in all: " + final + " and " + finalWeights);
  return kOk;
}

/// A name that means nothing is a slip of the command line, whatever the input is. A CPU that is too old is found by
/// the pass that needs to know.
int Compiler::checkTarget() {
  if (mlir::kernel::CpuTarget::isKnown(options.targetCpu))
    return kOk;
  std::string message;
  (void)mlir::kernel::CpuTarget::forCpu(options.targetCpu, message);
  console.error(message);
  return kUserError;
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
  if (int status = lower(target))
    return status;
  if (!options.to)
    return makeProgram();
  if (Error error = writeText(options.output.empty() ? "-" : options.output, [&](raw_ostream &os) { print(os); }))
    return fail(std::move(error));
  if (report)
    if (Error error = report->commit())
      return fail(std::move(error));
  return kOk;
}

} // namespace

int moe_mlir::compile(const CompileOptions &options) {
  handleInterrupts();
  registerAllPasses();
  return Compiler(options).run();
}
