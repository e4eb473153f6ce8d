//===- PassesFuzz.cpp - any module that verifies, through the passes ----------------------------------------------===//
//
// Takes what moe-compile would take at some level through the arrows behind it, for a CPU and for a GPU. Where a pass
// gives up it says why, and what a pass has made without an error verifies. A module that says no level is taken at
// each one, since tests of passes say none.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "FuzzTarget.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/InitAll.h"
#include "moe-mlir/Pipelines/Pipelines.h"
#include "moe-mlir/Support/UntrustedIr.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/xxhash.h"
#include <memory>

using namespace mlir;
using namespace moe_mlir;

/// What libFuzzer looks at beside places of code: the passes have no coverage of their own.
__attribute__((section("__libfuzzer_extra_counters"), used)) static uint8_t counters[1 << 14];

static void note(StringRef what) { counters[llvm::xxh3_64bits(what) % std::size(counters)] = 1; }

/// An error without what it names and how much it counts.
static void noteError(StringRef text) {
  std::string kind;
  bool isQuoted = false;
  for (char c : text) {
    isQuoted ^= c == '\'';
    if (!isQuoted && !llvm::isDigit(c))
      kind += c;
  }
  note(kind);
}

namespace {
/// Ends the process where a pass has left IR that does not verify.
struct VerifyPasses : PassInstrumentation {
  void runAfterPass(Pass *pass, Operation *op) override {
    std::string text = "a pass has left valid IR: " + pass->getName().str();
    check(succeeded(verify(op)), text.c_str());
    if (isa<ModuleOp>(op))
      op->walk([&](Operation *inner) { note((pass->getName() + inner->getName().getStringRef()).str()); });
  }
};

/// The errors of a context as long as this object lives.
class Errors {
public:
  explicit Errors(MLIRContext *context)
      : handler(context, [&](Diagnostic &diagnostic) {
          check(!diagnostic.str().empty(), "an error says something");
          noteError(diagnostic.str());
          number += diagnostic.getSeverity() == DiagnosticSeverity::Error;
        }) {}
  unsigned number = 0;

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

/// Types and attributes stay in a context for good: a fresh one now and then.
static MLIRContext *freshContext() {
  static std::unique_ptr<MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % 200)
    return context.get();
  if (!context)
    registerAllPasses();
  DialectRegistry registry;
  registerAllDialects(registry);
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  return context.get();
}

/// The module, or null. What is said then is looked at by fuzz_mlir.
static OwningOpRef<ModuleOp> read(const std::string &text, MLIRContext *context) {
  unsigned line;
  if (llvm::Error error = checkIrText(text, line)) {
    llvm::consumeError(std::move(error));
    return {};
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());
  return parseIr(sources, context);
}

static bool run(ModuleOp module, const std::string &pipeline, bool isImport) {
  Errors errors(module.getContext());
  PassManager pm(module.getContext());
  check(succeeded(parsePassPipeline(pipeline, pm)), "the passes are registered");
  // The graph of a model says the type of every value, and may contradict itself: that is for the verifier to say.
  pm.enableVerifier(isImport);
  if (!isImport)
    pm.addInstrumentation(std::make_unique<VerifyPasses>());
  if (succeeded(pm.run(module)))
    return true;
  check(errors.number > 0, "a pass that gives up says why");
  return false;
}

static void lower(ModuleOp text, Level level, const std::string &target) {
  OwningOpRef<ModuleOp> module = text.clone();
  PipelineOptions options;
  if (!text->hasAttr(kernel::targetAttrName))
    options.target = target;
  for (size_t i = size_t(level); kLevels[i] != Level::Runtime; ++i)
    if (!run(*module, arrowPipeline(kLevels[i], options), /*isImport=*/false))
      return;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  MLIRContext *context = freshContext();
  OwningOpRef<ModuleOp> module;
  {
    Errors errors(context);
    module = read(std::string(reinterpret_cast<const char *>(data), size), context);
  }
  if (!module)
    return 0;
  const bool isImport = module->walk([](aten::CallOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (isImport && !run(*module, importPipeline(), /*isImport=*/true))
    return 0;
  auto named = module->getOperation()->getAttrOfType<StringAttr>(kLevelAttr);
  const std::optional<Level> said = named ? parseLevel(named.getValue()) : std::nullopt;
  for (Level level : kLevels)
    if (level != Level::Runtime && (isImport ? level == Level::Graph : !said || level == *said))
      for (const char *target : {"cpu:znver4", "cuda:h200"})
        lower(*module, level, target);
  return 0;
}
