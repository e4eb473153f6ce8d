//===- VerifyBounds.cpp - kernel-verify-bounds --------------------------------------------------------------------===//
//
// Indices are followed to constants and to induction variables of loops whose bounds are constants. Upstream's bounds of
// values (ValueBoundsOpInterface, integer ranges) take the end of a loop for its last iteration, whatever its step, and
// would refuse the last tile of most loops; here a variable counts iterations, so that both ends of an index are met.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"
#include "moe-mlir/Support/UserFault.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELVERIFYBOUNDS
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

using namespace mlir;
using namespace mlir::kernel;

namespace {
/// The indices of one access, as sums over the iterations of loops around it.
class Access {
public:
  explicit Access(Operation *op);

  /// Whether the elements `index` to `index + width - 1` may lie in dimension `dim` of a buffer. Reports it if not.
  LogicalResult check(Value index, int64_t width, MemRefType type, int64_t dim, int64_t scale = 1);
  LogicalResult check(ValueRange indices, MemRefType type);
  LogicalResult checkRows(Value rows, MemRefType type, int64_t dim);

private:
  using Range = std::pair<int64_t, int64_t>;

  /// Null where the smallest and the largest value are not known, or need not be met.
  AffineExpr follow(Value value);
  AffineExpr compute(Value value);
  AffineExpr computeArgument(BlockArgument argument);
  AffineExpr columnOf(StoreTileOp store);
  /// A variable that has all values from `first` to `last`, `step` apart.
  AffineExpr variable(int64_t first, int64_t last, int64_t step = 1);
  std::optional<Range> rangeOf(AffineExpr expr);
  /// What it computes with later operations cannot overflow.
  bool isSmall(AffineExpr expr);

  Operation *op;
  /// The condition that decides whether the access runs: of loops around it, some iterations may not come to it.
  Operation *condition = nullptr;
  SmallVector<std::optional<int64_t>> lower, upper;
  DenseMap<Value, AffineExpr> known;
};
} // namespace

Access::Access(Operation *op) : op(op) {
  for (Operation *parent = op->getParentOp(); parent && !condition; parent = parent->getParentOp())
    if (isa<scf::IfOp, scf::WhileOp, scf::IndexSwitchOp>(parent))
      condition = parent;
}

AffineExpr Access::variable(int64_t first, int64_t last, int64_t step) {
  MLIRContext *context = op->getContext();
  int64_t iterations = (last - first) / step;
  if (iterations == 0)
    return getAffineConstantExpr(first, context);
  lower.push_back(0);
  upper.push_back(iterations);
  return getAffineDimExpr(lower.size() - 1, context) * step + first;
}

std::optional<Access::Range> Access::rangeOf(AffineExpr expr) {
  if (!expr)
    return std::nullopt;
  std::optional<int64_t> least = getBoundForAffineExpr(expr, lower.size(), 0, lower, upper, /*isUpper=*/false);
  std::optional<int64_t> most = getBoundForAffineExpr(expr, lower.size(), 0, lower, upper, /*isUpper=*/true);
  return least && most ? std::optional(Range(*least, *most)) : std::nullopt;
}

bool Access::isSmall(AffineExpr expr) {
  std::optional<Range> range = rangeOf(expr);
  return range && llvm::isInt<32>(range->first) && llvm::isInt<32>(range->second);
}

AffineExpr Access::follow(Value value) {
  auto it = known.find(value);
  return it != known.end() ? it->second : known[value] = compute(value);
}

AffineExpr Access::columnOf(StoreTileOp store) {
  auto type = cast<MemRefType>(store.getDest().getType());
  std::optional<Range> first = rangeOf(follow(store.getColumn()));
  std::optional<int64_t> limit = store.getLimit() ? getConstantIntValue(store.getLimit()) : INT64_MAX;
  if (!first || !isSmall(follow(store.getColumn())) || !limit || type.isDynamicDim(type.getRank() - 1))
    return {};
  int64_t end = first->second + cast<AccType>(store.getAccs()[0].getType()).getColumns();
  end = std::min({end, *limit, type.getShape().back()});
  // Of a tile that lies behind the last column nothing is computed.
  return first->first < end ? variable(first->first, end - 1) : AffineExpr();
}

AffineExpr Access::computeArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (!parent || (condition && parent->isProperAncestor(condition)))
    return {};
  if (auto rows = dyn_cast<RowIndicesOp>(parent))
    return follow(rows.getBase()); // of the others some may not exist
  if (auto store = dyn_cast<StoreTileOp>(parent)) {
    auto rows = store.getRows().getDefiningOp<RowIndicesOp>();
    if (argument.getArgNumber() > 1 || (argument.getArgNumber() == 0 && !rows))
      return {};
    return argument.getArgNumber() ? columnOf(store) : follow(rows.getBody().front().getTerminator()->getOperand(0));
  }
  auto loop = dyn_cast<LoopLikeOpInterface>(parent);
  auto variables = loop ? loop.getLoopInductionVars() : std::nullopt;
  if (!variables)
    return {};
  auto lowers = loop.getLoopLowerBounds(), uppers = loop.getLoopUpperBounds(), steps = loop.getLoopSteps();
  for (auto [i, own] : llvm::enumerate(*variables)) {
    if (own != argument || !lowers || !uppers || !steps)
      continue;
    std::optional<int64_t> from = getConstantIntValue((*lowers)[i]), to = getConstantIntValue((*uppers)[i]),
                           step = getConstantIntValue((*steps)[i]);
    auto known = [](std::optional<int64_t> number) { return number && llvm::isInt<32>(*number); };
    bool runs = known(from) && known(to) && known(step) && *step > 0 && *from < *to;
    return runs ? variable(*from, *from + (*to - 1 - *from) / *step * *step, *step) : AffineExpr();
  }
  return {};
}

AffineExpr Access::compute(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return getAffineConstantExpr(*constant, op->getContext());
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeArgument(argument);
  Operation *by = value.getDefiningOp();
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp>(by))
    return follow(by->getOperand(0));
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(by))
    return {};
  AffineExpr a = follow(by->getOperand(0)), b = follow(by->getOperand(1));
  if (!isSmall(a) || !isSmall(b))
    return {};
  if (isa<arith::MulIOp>(by))
    return isa<AffineConstantExpr>(a) ? b * a : isa<AffineConstantExpr>(b) ? a * b : AffineExpr();
  return isa<arith::AddIOp>(by) ? a + b : a - b;
}

LogicalResult Access::check(Value index, int64_t width, MemRefType type, int64_t dim, int64_t scale) {
  std::optional<Range> range = llvm::isInt<32>(type.getDimSize(dim)) ? rangeOf(follow(index)) : std::nullopt;
  if (!range || type.isDynamicDim(dim))
    return success();
  int64_t size = type.getDimSize(dim) * scale;
  if (range->first >= 0 && range->second <= size - width)
    return success();
  int64_t outside = range->first < 0 || range->second > INT64_MAX - width ? range->first : range->second + width - 1;
  return moe_mlir::asUserFault(op->emitOpError())
         << "reaches element " << outside << " of dimension " << dim << " of " << type << ", which has " << size
         << " (0 to " << size - 1 << ")";
}

LogicalResult Access::check(ValueRange indices, MemRefType type) {
  for (auto [dim, index] : llvm::enumerate(indices))
    if (failed(check(index, 1, type, dim)))
      return failure();
  return success();
}

/// The first of the rows exists.
LogicalResult Access::checkRows(Value rows, MemRefType type, int64_t dim) {
  auto indices = rows.getDefiningOp<RowIndicesOp>();
  return indices ? check(indices.getBody().front().getTerminator()->getOperand(0), 1, type, dim) : success();
}

static LogicalResult checkProduct(MmaOp op) {
  Access access(op);
  auto a = cast<MemRefType>(op.getA().getType()), b = cast<MemRefType>(op.getB().getType());
  int64_t step = op.getStep(), leading = op.getIndices().size();
  // Without `inbounds`, what lies behind the last column of a counts as zero.
  if (failed(access.checkRows(op.getRows(), a, 0)) || failed(access.check(op.getIndices(), b)) ||
      failed(access.check(op.getK(), step, b, leading, step)) ||
      failed(access.check(op.getColumn(), op.getAcc().getType().getColumns(), b, leading + 1)))
    return failure();
  return op.getInbounds() ? access.check(op.getK(), step, a, 1) : success();
}

static LogicalResult checkStore(StoreTileOp op) {
  Access access(op);
  auto type = cast<MemRefType>(op.getDest().getType());
  int64_t last = type.getRank() - 1;
  if (failed(access.check(op.getLeading(), type)) || failed(access.checkRows(op.getRows(), type, last - 1)))
    return failure();
  // Columns behind the last one are not stored, but those behind a limit are the limit's affair.
  std::optional<int64_t> limit = op.getLimit() ? getConstantIntValue(op.getLimit()) : std::nullopt;
  if (!limit || type.isDynamicDim(last) || *limit <= type.getDimSize(last))
    return success();
  return moe_mlir::asUserFault(op.emitOpError())
         << "stores columns up to the limit " << *limit << " of " << type << ", which has " << type.getDimSize(last);
}

static LogicalResult checkAccess(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return Access(op).check(load.getIndices(), load.getMemRefType());
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return Access(op).check(store.getIndices(), store.getMemRefType());
  if (auto product = dyn_cast<MmaOp>(op))
    return checkProduct(product);
  if (auto store = dyn_cast<StoreTileOp>(op))
    return checkStore(store);
  if (auto load = dyn_cast<LoadTileOp>(op)) {
    auto type = cast<MemRefType>(load.getSource().getType());
    Access access(op);
    return success(succeeded(access.checkRows(load.getRows(), type, 0)) &&
                   succeeded(access.check(load.getColumn(), load.getResult().getType().getColumns(), type, 1)));
  }
  return success();
}

namespace {
struct KernelVerifyBounds : kernel::impl::KernelVerifyBoundsBase<KernelVerifyBounds> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    WalkResult result = getOperation().walk([](Operation *op) { return WalkResult(checkAccess(op)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
