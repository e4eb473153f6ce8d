//===- Compile.cpp - from an exported model to an executable, phase by phase
//----------------------------------------===//

#include "Console.h"
#include "Input.h"
#include "Interrupt.h"
#include "Outputs.h"
#include "moe-mlir/Driver/Driver.h"
#include "moe-mlir/InitAll.h"
#include "moe-mlir/Pipelines/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/Timing.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace moe_mlir;

namespace {

/// One run of the compiler.
class Compiler {
public:
  explicit Compiler(const CompileOptions &options)
      : options(options), console(options.progress, options.quiet, countPhases(options)), context(makeRegistry()),
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
  static unsigned countPhases(const CompileOptions &options);

  int read();
  int lower(Level target);
  int dump();
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
};

unsigned Compiler::countPhases(const CompileOptions &options) {
  Level from = options.from.value_or(Level::Graph), to = options.to.value_or(Level::Runtime);
  unsigned phases = 1;
  if (to > from)
    phases += static_cast<int>(to) - static_cast<int>(from);
  return phases;
}

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

int Compiler::read() {
  console.begin("read " + sys::path::filename(options.input).str());
  int status = readIr(options.input, options.from, context, console, input);
  if (status == kOk) {
    mlir::Operation *module = input.module.get();
    module->setAttr(kLevelAttr, mlir::StringAttr::get(&context, levelName(input.level)));
    console.end();
  }
  return status;
}

/// Writes DIR/<number>_<level>.mlir if intermediates are wanted.
int Compiler::dump() {
  if (options.dumpFolder.empty())
    return kOk;
  if (std::error_code error = sys::fs::create_directories(options.dumpFolder)) {
    console.error("cannot create folder '" + options.dumpFolder + "': " + error.message());
    return kUserError;
  }
  std::string path = options.dumpFolder + "/" + std::to_string(static_cast<int>(input.level)) + "_" +
                     levelName(input.level).str() + ".mlir";
  if (Error error = writeText(path, [&](raw_ostream &os) { print(os); }))
    return fail(std::move(error));
  return kOk;
}

int Compiler::lower(Level target) {
  while (input.level < target) {
    Level next = static_cast<Level>(static_cast<int>(input.level) + 1);
    std::string phase = ("lower to " + levelName(next)).str();
    console.begin(phase);
    setCrashContext(phase,
                    ("moe-compile --from=" + levelName(input.level) + " --to=" + levelName(next) +
                     " --target-cpu=" + options.targetCpu)
                        .str(),
                    text());
    mlir::PassManager pm(&context);
    mlir::TimingScope scope = timingRoot.nest(phase);
    if (options.timing)
      pm.enableTiming(scope);
    if (failed(buildArrow(pm, input.level, {options.targetCpu}))) {
      reportInternalError("a pass is not registered");
      return kInternal;
    }
    if (failed(pm.run(*input.module))) {
      if (succeeded(mlir::verify(*input.module)))
        return kUnsupported;
      reportInternalError("a pass left invalid IR");
      return kInternal;
    }
    input.level = next;
    input.module.get()->setAttr(kLevelAttr, mlir::StringAttr::get(&context, levelName(next)));
    console.end();
    if (int status = dump())
      return status;
  }
  return kOk;
}

int Compiler::run() {
  if (int status = read())
    return status;
  Level target = options.to.value_or(Level::Runtime);
  if (target < input.level) {
    console.error("--to=" + levelName(target) + " comes before level " + levelName(input.level) + " of the input");
    return kUserError;
  }
  if (int status = dump())
    return status;
  if (int status = lower(target))
    return status;
  if (options.to) {
    if (Error error = writeText(options.output.empty() ? "-" : options.output, [&](raw_ostream &os) { print(os); }))
      return fail(std::move(error));
    return kOk;
  }
  return kOk;
}

} // namespace

int moe_mlir::compile(const CompileOptions &options) {
  handleInterrupts();
  registerAllPasses();
  return Compiler(options).run();
}
