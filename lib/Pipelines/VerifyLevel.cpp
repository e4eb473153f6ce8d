//===- VerifyLevel.cpp - moe-verify-level -------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/Levels.h"
#include "moe-mlir/Pipelines/Passes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOEVERIFYLEVEL
#include "moe-mlir/Pipelines/Passes.h.inc"

/// Dialects whose ops a level may hold.
static ArrayRef<StringRef> dialectsOf(Level level) {
  static constexpr StringRef tensors[] = {"arith", "builtin", "func", "index", "linalg", "math",
                                          "moe",   "nn",      "scf",  "shard", "tensor", "ub"};
  static constexpr StringRef buffers[] = {"affine", "arith", "builtin", "func", "index", "kernel",
                                          "linalg", "math",  "memref",  "scf",  "ub"};
  static constexpr StringRef calls[] = {"builtin", "llvm", "moert"};
  switch (level) {
  case Level::Graph:
  case Level::Spmd:
  case Level::Scheduled:
    return tensors;
  case Level::Kernel:
    return buffers;
  case Level::Runtime:
    return calls;
  }
  llvm_unreachable("all levels are handled");
}

static bool hasTensors(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  return llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor);
}

/// What an op breaks, or an empty string.
static std::string fault(Operation *op, Level level) {
  const bool parameterOfKernels = level == Level::Kernel && isa<moe::ParameterOp>(op);
  if (!llvm::is_contained(dialectsOf(level), op->getName().getDialectNamespace()) && !parameterOfKernels)
    return "is not an op of this level";
  if (level == Level::Kernel && hasTensors(op))
    return "works on tensors; this level has buffers only";
  if (level == Level::Graph && isa<moe::AllToAllOp>(op))
    return "communicates; this level is one logical program";
  if (level == Level::Scheduled && isa<moe::ExpertOp>(op) && !op->hasAttr(kScheduleAttr))
    return "has no moe.schedule";
  return "";
}

namespace {
struct MoeVerifyLevel : impl::MoeVerifyLevelBase<MoeVerifyLevel> {
  using MoeVerifyLevelBase::MoeVerifyLevelBase;

  LogicalResult initializeOptions(StringRef options, function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (failed(MoeVerifyLevelBase::initializeOptions(options, errorHandler)))
      return failure();
    if (!parseLevel(level))
      return errorHandler("unknown level '" + level + "'; one of graph, spmd, scheduled, kernel, runtime");
    return success();
  }

  void runOnOperation() override {
    const Level wanted = *parseLevel(level);
    Operation *first = nullptr;
    std::string why;
    unsigned others = 0;
    getOperation().walk([&](Operation *op) {
      std::string text = fault(op, wanted);
      if (text.empty())
        return;
      others += first != nullptr;
      if (!first) {
        first = op;
        why = std::move(text);
      }
    });
    if (!first)
      return markAllAnalysesPreserved();
    InFlightDiagnostic error = first->emitError("level ") << level << ": '" << first->getName() << "' " << why;
    if (others)
      error << " (and " << others << " more ops break the contract)";
    signalPassFailure();
  }
};
} // namespace
} // namespace moe_mlir
