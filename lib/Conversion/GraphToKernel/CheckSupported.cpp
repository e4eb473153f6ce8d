//===- CheckSupported.cpp - which graphs have a lowering --------------------------------------------------------===//

#include "Lowering.h"

#include "moe-mlir/Support/ScalarRegion.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace mlir::kernel;

static bool hasTensor(Operation *op) {
  auto isTensor = [](Type type) { return isa<TensorType>(type); };
  return llvm::any_of(op->getOperandTypes(), isTensor) || llvm::any_of(op->getResultTypes(), isTensor);
}

static bool isMatrixType(Type type) { return type.isF32() || type.isBF16() || type.isF16(); }

/// The first argument or result that is a layout; one stands for several buffers, which no caller could give or take.
static std::optional<std::string> layoutOf(func::FuncOp func) {
  auto find = [](TypeRange types, StringRef what) -> std::optional<std::string> {
    for (auto [i, type] : llvm::enumerate(types))
      if (isa<moe::LayoutType>(type))
        return ("has a !moe.layout as " + what + " " + Twine(i) + "; it exists inside of a function only").str();
    return std::nullopt;
  };
  std::optional<std::string> argument = find(func.getArgumentTypes(), "argument");
  return argument ? argument : find(func.getResultTypes(), "result");
}

static constexpr int64_t mostSummands = 1024;

static std::optional<std::string> reasonAgainstSum(shard::AllReduceOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (op.getReduction() != shard::ReductionKind::Sum || op.getGridAxes().size() != 1 || op.getGridAxes()[0] != 0)
    return "adds up what the ranks of axis 0 have; reduction = <sum>, grid_axes = [0]";
  auto from = cast<RankedTensorType>(op.getInput().getType());
  bool isKnown = isMatrixType(from.getElementType());
  if (!type.getElementType().isF32() || !isKnown || from.getShape() != type.getShape() || type.getRank() < 1)
    return "adds tensors of f32, bf16 or f16 in f32, so that it rounds nothing";
  const int64_t ranks = moe::ranksOf(op, op.getGridAttr());
  if (!llvm::isPowerOf2_64(ranks))
    return "adds in pairs, so the number of ranks must be a power of two";
  // The kernel names each of them.
  if (ranks > mostSummands)
    return ("adds what at most " + Twine(mostSummands) + " ranks have, and its grid has " + Twine(ranks)).str();
  return std::nullopt;
}

static std::optional<std::string> reasonAgainstGather(shard::AllGatherOp op) {
  auto from = cast<RankedTensorType>(op.getInput().getType()), to = cast<RankedTensorType>(op.getResult().getType());
  const int64_t last = to.getRank() - 1, ranks = moe::ranksOf(op, op.getGridAttr());
  if (op.getGridAxes().size() != 1 || op.getGridAxes()[0] != 0 || op.getGatherAxis().getSExtValue() != last)
    return "gathers along the last dimension what the ranks of axis 0 have; grid_axes = [0]";
  int64_t whole;
  if (from.isDynamicDim(last) || llvm::MulOverflow(from.getDimSize(last), ranks, whole) || to.getDimSize(last) != whole)
    return "gives as many elements in the last dimension as all ranks together have, which types say";
  return std::nullopt;
}

/// Ranks share windows, and all sizes of a window but the first are known.
static std::optional<std::string> reasonAgainstExchange(moe::AllToAllOp op) {
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (tensor.getRank() > 1 && ShapedType::isDynamicShape(tensor.getShape().drop_front()))
        return "exchanges rows whose width is not known";
  return std::nullopt;
}

/// A tensor without dimensions has one element, which the type of the other side shows.
static std::optional<std::string> reasonAgainstReassociation(RankedTensorType a, RankedTensorType b) {
  if (a.getRank() != 0 && b.getRank() != 0)
    return std::nullopt;
  for (int64_t size : llvm::concat<const int64_t>(a.getShape(), b.getShape()))
    if (size != 1)
      return "has no dimension on one side, so all sizes of the other one must be 1";
  return std::nullopt;
}

/// A reason why `op` cannot be lowered, or nothing.
static std::optional<std::string> reasonAgainst(Operation *op) {
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (isa<UnrankedTensorType>(type))
      return "has an operand or result of unknown rank";
  for (Type type : llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      if (Type element = tensor.getElementType();
          !isa<IntegerType, IndexType, FloatType>(element) || isa<FloatTF32Type>(element))
        return "computes with elements that are no i1 to i64, bf16, f16, f32 or f64";
  if (auto func = dyn_cast<func::FuncOp>(op))
    return layoutOf(func);
  if (isa<nn::LinearOp, nn::BatchLinearOp>(op)) {
    Type x = getElementTypeOrSelf(op->getOperand(0)), w = getElementTypeOrSelf(op->getOperand(1));
    if (x != w || !isMatrixType(x))
      return "multiplies f32 by f32, bf16 by bf16 or f16 by f16";
    return std::nullopt;
  }
  if (auto reshape = dyn_cast<tensor::ReshapeOp>(op)) {
    if (!reshape.getResult().getType().hasStaticShape() && !reshape.getShape().getDefiningOp<tensor::FromElementsOp>())
      return "needs a shape made by tensor.from_elements";
    return std::nullopt;
  }
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return pad.getConstantPaddingValue() ? std::nullopt : std::make_optional<std::string>("needs a constant padding");
  if (auto rope = dyn_cast<nn::RopeOp>(op); rope && cast<ShapedType>(rope.getX().getType()).getRank() != 4)
    return "needs x of rank 4";
  if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
    auto query = cast<ShapedType>(attention.getQuery().getType()), key = cast<ShapedType>(attention.getKey().getType()),
         value = cast<ShapedType>(attention.getValue().getType());
    if (query.isDynamicDim(2) || query.isDynamicDim(3) || key.isDynamicDim(1) || value.isDynamicDim(3))
      return "needs static numbers of heads and a static head size";
  }
  if (auto exchange = dyn_cast<moe::AllToAllOp>(op))
    return reasonAgainstExchange(exchange);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return reasonAgainstReassociation(collapse.getSrcType(), collapse.getResultType());
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return reasonAgainstReassociation(expand.getSrcType(), expand.getResultType());
  if (StringRef why = moe_mlir::whyNoResult(op); !why.empty())
    return why.str();
  if (isa<func::CallOp>(op))
    return "must be inlined before";
  if (auto sum = dyn_cast<shard::AllReduceOp>(op))
    return reasonAgainstSum(sum);
  if (auto gather = dyn_cast<shard::AllGatherOp>(op))
    return reasonAgainstGather(gather);
  if (isa<nn::EmbeddingOp, nn::RmsNormOp, nn::RopeOp, nn::CacheUpdateOp, nn::AttentionOp, nn::CausalConvOp, nn::ScanOp,
          nn::TopKOp, moe::ParameterOp, moe::GateOp, moe::DispatchOp, moe::ExpertOp, moe::CombineOp, tensor::EmptyOp,
          tensor::DimOp, tensor::CastOp, tensor::ExtractSliceOp, tensor::InsertSliceOp, tensor::ConcatOp,
          tensor::FromElementsOp, tensor::SplatOp, tensor::ExtractOp, arith::ConstantOp, cf::AssertOp, CheckOp,
          func::FuncOp, func::ReturnOp, linalg::GenericOp, linalg::FillOp>(op))
    return std::nullopt;
  if (isa<linalg::LinalgOp>(op))
    return "is a named operation; run linalg-generalize-named-ops before";
  if (isa_and_present<arith::ArithDialect, math::MathDialect>(op->getDialect()) || isa<nn::SiluOp>(op))
    return hasTensor(op) ? std::make_optional<std::string>("works on tensors; run convert-elementwise-to-linalg before")
                         : std::nullopt;
  return "has no lowering to the kernel level";
}

LogicalResult mlir::kernel::checkSupported(ModuleOp module) {
  Operation *bad = nullptr;
  std::string reason;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ModuleOp>(op))
      return WalkResult::advance();
    // Other symbols (kernels, grids) stay as they are.
    if (isa<SymbolOpInterface>(op) && !isa<func::FuncOp>(op))
      return WalkResult::skip();
    // Regions of these hold scalars, which the op's program clones.
    bool isProgram = isa<linalg::GenericOp, linalg::FillOp, moe::ExpertOp, tensor::PadOp>(op);
    if (std::optional<std::string> why = reasonAgainst(op)) {
      bad = op;
      reason = *why;
      return WalkResult::interrupt();
    }
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      generic.getRegion().walk([&](Operation *nested) {
        if (StringRef why = moe_mlir::whyNotScalar(nested); !bad && !why.empty()) {
          bad = nested;
          reason = why;
        }
      });
    if (bad)
      return WalkResult::interrupt();
    return isProgram ? WalkResult::skip() : WalkResult::advance();
  });
  if (!bad)
    return success();
  return bad->emitOpError() << reason;
}
