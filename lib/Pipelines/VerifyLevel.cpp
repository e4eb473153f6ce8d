//===- VerifyLevel.cpp - moe-verify-level: the contract of each level ---------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/Levels.h"
#include "moe-mlir/Pipelines/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOEVERIFYLEVEL
#include "moe-mlir/Pipelines/Passes.h.inc"

/// Dialects whose ops a level may hold.
static ArrayRef<StringRef> dialectsOf(Level level) {
  static constexpr StringRef tensors[] = {"arith", "func", "index", "linalg", "math", "moe",
                                          "nn",    "scf",  "shard", "tensor", "ub"};
  static constexpr StringRef buffers[] = {"affine", "arith", "func",   "index", "kernel",
                                          "linalg", "math",  "memref", "scf",   "ub"};
  static constexpr StringRef calls[] = {"emitc", "llvm", "moert"};
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

static bool belongs(Operation *op, Level level) {
  if (isa<ModuleOp>(op) || (level == Level::Kernel && isa<moe::ParameterOp>(op)))
    return true;
  if (isa<cf::AssertOp>(op)) // a check of the host program
    return level != Level::Runtime;
  if (level == Level::Graph && isa<moe::AllToAllOp, shard::GridOp>(op))
    return false;
  return llvm::is_contained(dialectsOf(level), op->getName().getDialectNamespace());
}

static bool usesTensors(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  if (auto func = dyn_cast<FunctionOpInterface>(op))
    return llvm::any_of(func.getArgumentTypes(), isTensor) || llvm::any_of(func.getResultTypes(), isTensor);
  return llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor);
}

/// What an op breaks; empty if nothing.
static StringRef fault(Operation *op, Level level) {
  if (!belongs(op, level))
    return "is not an op of this level";
  if (level == Level::Kernel && usesTensors(op))
    return "works on tensors; this level has buffers only";
  auto expert = dyn_cast<moe::ExpertOp>(op);
  if (expert && level == Level::Scheduled && !expert.getSchedule())
    return "has no schedule";
  if (expert && level < Level::Scheduled && expert.getSchedule())
    return "has a schedule, which a later level decides";
  return "";
}

namespace {
struct MoeVerifyLevel : impl::MoeVerifyLevelBase<MoeVerifyLevel> {
  using MoeVerifyLevelBase::MoeVerifyLevelBase;

  LogicalResult initializeOptions(StringRef options, function_ref<LogicalResult(const Twine &)> errorHandler) override {
    if (failed(MoeVerifyLevelBase::initializeOptions(options, errorHandler)))
      return failure();
    if (!parseLevel(level))
      return errorHandler(unknownLevel(level));
    return success();
  }

  void runOnOperation() override {
    const Level wanted = *parseLevel(level);
    // One message per kind of op: a module may hold thousands of the same.
    llvm::MapVector<std::pair<OperationName, StringRef>, std::pair<Location, int64_t>> findings;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      // The terminator of a foreign op goes with it.
      if (op->hasTrait<OpTrait::IsTerminator>() && !belongs(op->getParentOp(), wanted))
        return;
      if (StringRef what = fault(op, wanted); !what.empty())
        ++findings.try_emplace({op->getName(), what}, op->getLoc(), 0).first->second.second;
    });
    for (auto &[kind, finding] : findings) {
      auto [where, count] = finding;
      InFlightDiagnostic error = emitError(where) << "level " << level << ": '" << kind.first << "' " << kind.second;
      if (count > 1)
        error << " (" << count << " ops, this is the first)";
    }
    if (!findings.empty())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace moe_mlir
