//===- VerifyLevel.cpp - moe-verify-level: the contract of each level ---------------------------------------------===//

#include "GenerationContract.h"
#include "RankContract.h"
#include "SizeContract.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Pipelines/Levels.h"
#include "moe-mlir/Pipelines/Passes.h"
#include "moe-mlir/Pipelines/Variants.h"
#include "moe-mlir/Schedule/Decisions.h"
#include "moe-mlir/Support/ScalarRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOEVERIFYLEVEL
#include "moe-mlir/Pipelines/Passes.h.inc"

/// Dialects whose ops a level may hold.
static ArrayRef<StringRef> dialectsOf(Level level) {
  static constexpr StringRef tensors[] = {"arith", "func", "index",  "linalg", "math",
                                          "moe",   "nn",   "scf",    "tensor", "ub"};
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
  if (isa<shard::GridOp>(op)) // ranks exist until kernels have become machine code
    return level != Level::Graph && level != Level::Runtime;
  if (level == Level::Graph ? isa<moe::AllToAllOp>(op) : isa<shard::AllGatherOp, shard::AllReduceOp>(op))
    return level == Level::Spmd || level == Level::Scheduled;
  return llvm::is_contained(dialectsOf(level), op->getName().getDialectNamespace());
}

static bool usesTensors(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  if (auto func = dyn_cast<FunctionOpInterface>(op))
    return llvm::any_of(func.getArgumentTypes(), isTensor) || llvm::any_of(func.getResultTypes(), isTensor);
  return llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor);
}

static bool usesMemorySpace(Operation *op) {
  auto hasSpace = [](Type type) {
    auto buffer = dyn_cast<BaseMemRefType>(type);
    return buffer && buffer.getMemorySpace();
  };
  if (auto func = dyn_cast<FunctionOpInterface>(op))
    return llvm::any_of(func.getArgumentTypes(), hasSpace) || llvm::any_of(func.getResultTypes(), hasSpace);
  return llvm::any_of(op->getResultTypes(), hasSpace);
}

static bool isComplex(Type type) { return isa<ComplexType>(getElementTypeOrSelf(type)); }

/// Memory orders are decided on the way to level scheduled.
static bool isEncoded(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getEncoding();
}

/// A constant by reference into the file's resources, which are not there.
static bool lacksResource(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  auto elements = constant ? dyn_cast<DenseResourceElementsAttr>(constant.getValue()) : DenseResourceElementsAttr();
  return elements && !elements.getRawHandle().getBlob();
}

/// Element types are attributes, which the verifiers of llvm.getelementptr and llvm.alloca do not look at.
static bool hasElementsWithoutSize(Operation *op) {
  auto element = op->getAttrOfType<TypeAttr>("elem_type");
  if (!element || op->getName().getDialectNamespace() != "llvm")
    return false;
  Type type = element.getValue();
  if (!LLVM::isCompatibleType(type) || !LLVM::LLVMArrayType::isValidElementType(type))
    return true;
  return type
      .walk([](LLVM::LLVMStructType part) { return part.isOpaque() ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

/// What an op breaks; empty if nothing.
static StringRef fault(Operation *op, Level level) {
  if (isa<ModuleOp>(op) && op->getParentOp())
    return "stands inside of a module; a program is one module, so move its functions into the outer one";
  if (!belongs(op, level))
    return "is not an op of this level";
  if (auto grid = dyn_cast<shard::GridOp>(op); grid && !moe::hasRanks(grid))
    return "has no number of ranks that is known; its sizes are numbers from 1 on whose product fits an integer";
  auto dispatch = dyn_cast<moe::DispatchOp>(op);
  if (dispatch && level == Level::Graph && (dispatch.getTo() || dispatch.getAt()))
    return "is divided among ranks, which level spmd decides";
  if (auto embedding = dyn_cast<nn::EmbeddingOp>(op); embedding && level == Level::Graph && embedding.getAt())
    return "has a part of a table, which level spmd decides";
  if (dispatch && level == Level::Graph && dispatch.getOrder())
    return "has an order of its experts, which level spmd decides";
  if (level == Level::Spmd || level == Level::Scheduled)
    if (StringRef why = whyNotOfRank(op); !why.empty())
      return why;
  if (lacksResource(op))
    return "is a 'dense_resource' that the file does not hold";
  if (level != Level::Scheduled && llvm::any_of(op->getResultTypes(), isEncoded))
    return "has a result with an encoding; the compiler chooses those";
  if (llvm::any_of(op->getResultTypes(), isComplex))
    return "computes complex numbers; compute their real and imaginary parts, each a tensor of its own";
  if (auto rounds = dyn_cast<arith::ArithRoundingModeInterface>(op);
      rounds && rounds.getRoundingModeAttr() &&
      rounds.getRoundingModeAttr().getValue() != arith::RoundingMode::to_nearest_even)
    return "has a rounding mode; programs round to the nearest number, ties to even";
  if (level == Level::Kernel && usesMemorySpace(op))
    return "has a buffer with a memory space; this level has one kind of memory, and a target chooses where what "
           "stands";
  if (level == Level::Kernel && usesTensors(op))
    return "works on tensors; this level has buffers only";
  if (level < Level::Kernel && op->getParentOfType<linalg::LinalgOp>())
    if (StringRef why = moe_mlir::whyNotScalar(op); !why.empty())
      return why;
  if (level < Level::Kernel)
    if (StringRef why = moe_mlir::whyNoResult(op); !why.empty())
      return why;
  if (hasElementsWithoutSize(op))
    return "has elements of a type without a size in machine code";
  auto expert = dyn_cast<moe::ExpertOp>(op);
  if (expert && level == Level::Scheduled && !expert.getSchedule())
    return "has no schedule";
  if (expert && level < Level::Scheduled && expert.getSchedule())
    return "has a schedule, which a later level decides";
  return "";
}

namespace {
/// What a program's caller could not give to a function on tensors, or take from it.
class InterfaceCheck {
public:
  InterfaceCheck(func::FuncOp func, Level level)
      : func(func), level(levelName(level)), mayEncode(level == Level::Scheduled) {}

  /// One message, about the first fault.
  LogicalResult run() {
    if (func.isExternal())
      return error() << "'" << func.getName() << "' has no body; nothing is linked to a program, so define it or remove it";
    for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
      if (failed(check("argument", i, type, func.getArgAttrDict(i))))
        return failure();
    for (auto [i, type] : llvm::enumerate(func.getResultTypes())) {
      if (failed(check("result", i, type, func.getResultAttrDict(i))))
        return failure();
      auto state = func.getResultAttrOfType<IntegerAttr>(i, "moe.state_of");
      if (!state || func.getArgAttr(state.getInt(), "moe.state"))
        continue;
      unsigned number = state.getInt();
      return error() << name("result", i, func.getResultAttrDict(i)) << " is the next value of "
                              << name("argument", number, func.getArgAttrDict(number))
                              << ", which is an input of the caller and no state: inputs are not written. Mark the argument "
                                 "'moe.state' (it starts as zeros), or return the value without 'moe.state_of'";
    }
    return checkSplits();
  }

private:
  /// What shares a size is divided as one, or else a rank's part of one meets all of another, or another part.
  LogicalResult checkSplits() {
    struct First {
      std::string name;
      Attribute split;
    };
    llvm::MapVector<StringAttr, First> firsts;
    auto visit = [&](StringRef what, unsigned number, DictionaryAttr attrs) -> LogicalResult {
      auto dims = attrs ? attrs.getAs<ArrayAttr>("moe.dims") : ArrayAttr();
      auto size = dims && !dims.empty() ? dyn_cast<StringAttr>(dims[0]) : StringAttr();
      if (!size || size.empty() || attrs.contains("moe.state") || attrs.contains("moe.state_of"))
        return success();
      Attribute split = attrs.get(moe::kSplitAttr);
      First own{name(what, number, attrs), split};
      First &first = firsts.try_emplace(size, own).first->second;
      if (first.split == split)
        return success();
      InFlightDiagnostic diagnostic = error();
      diagnostic << first.name << " and " << own.name << " share the size '" << size.getValue() << "', but one is ";
      describe(diagnostic, first.split) << " and the other ";
      describe(diagnostic, split) << "; give both one 'moe.split', or none";
      return diagnostic;
    };
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (failed(visit("argument", i, func.getArgAttrDict(i))))
        return failure();
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (failed(visit("result", i, func.getResultAttrDict(i))))
        return failure();
    return success();
  }

  /// "divided on @ep", "whole"
  static InFlightDiagnostic &describe(InFlightDiagnostic &diagnostic, Attribute split) {
    return split ? diagnostic << "divided on " << split : diagnostic << "whole";
  }

  /// "argument 1 ('x') of 'main'"
  std::string name(StringRef what, unsigned number, DictionaryAttr attrs) {
    auto own = attrs ? attrs.getAs<StringAttr>("moe.name") : StringAttr();
    return (what + " " + Twine(number) + (own ? " ('" + own.getValue() + "')" : Twine()).str() + " of '" + func.getName() + "'").str();
  }

  LogicalResult check(StringRef what, unsigned number, Type type, DictionaryAttr attrs) {
    std::string why;
    if (isa<moe::LayoutType>(type))
      why = "a layout exists inside of a function only; " +
            std::string(what == "result" ? "return what is made of it" : "make it of expert ids by moe.dispatch");
    else if (!isa<TensorType>(type))
      why = "a program takes and returns tensors; a single value is a tensor without dimensions";
    else if (!mayEncode && isEncoded(type))
      why = "the compiler chooses encodings";
    else if (isComplex(type))
      why = "a program takes and returns integers and floats; give the real and the imaginary part, each a tensor of its own";
    return why.empty() ? success() : error() << name(what, number, attrs) << " is of type " << type << "; " << why;
  }

  InFlightDiagnostic error() {
    InFlightDiagnostic diagnostic = emitError(func.getLoc());
    diagnostic << "level " << level << ": ";
    return diagnostic;
  }

  func::FuncOp func;
  StringRef level;
  bool mayEncode; ///< what states are encoded by is checked with the other decisions
};

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
    if (!findings.empty() || failed(verifyInterfaces(wanted)) ||
        (wanted == Level::Scheduled && failed(kernel::verifyDecisions(getOperation()))))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verifyInterfaces(Level wanted) {
    if (wanted < Level::Kernel)
      for (auto func : getOperation().getOps<func::FuncOp>())
        if (failed(InterfaceCheck(func, wanted).run()) || (wanted == Level::Graph && failed(verifySizes(func))))
          return failure();
    if (failed(verifyGeneration(getOperation(), level)))
      return failure();
    return wanted == Level::Runtime ? success() : verifyVariants(getOperation());
  }
};
} // namespace
} // namespace moe_mlir
