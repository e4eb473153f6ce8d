//===- BoundsOfLoops.cpp - linalg ops: their loops stay inside of every operand ---------------------------------===//

#include "Bounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
struct Interval {
  SizeExpr low, high;
};
} // namespace

/// Least and greatest value of `expr` over loops that run; nothing if that cannot be said.
static std::optional<Interval> rangeOf(GraphSizes &sizes, AffineExpr expr, ArrayRef<SizeExpr> loops) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return Interval{0, loops[dim.getPosition()] - 1};
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return Interval{constant.getValue(), constant.getValue()};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<Interval> x = rangeOf(sizes, binary.getLHS(), loops), y = rangeOf(sizes, binary.getRHS(), loops);
  if (!x || !y)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return Interval{x->low + y->low, x->high + y->high};
  std::optional<int64_t> by = y->low == y->high ? y->low.getConstant() : std::nullopt;
  if (!by)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mul)
    return *by >= 0 ? Interval{x->low * *by, x->high * *by} : Interval{x->high * *by, x->low * *by};
  if (*by <= 0)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mod)
    return Interval{0, sizes.isNonNegative(x->low) ? sizes.min(x->high, *by - 1) : SizeExpr(*by - 1)};
  int64_t up = expr.getKind() == AffineExprKind::CeilDiv ? *by - 1 : 0;
  return Interval{sizes.floorDiv(x->low + up, *by), sizes.floorDiv(x->high + up, *by)};
}

namespace {
/// A loop and the operand's dimension whose size is taken for its: the first that it walks, or one that a type states.
struct Loop {
  std::optional<SizeExpr> size;
  int64_t operand = 0, dim = 0;
};
} // namespace

static void forDims(linalg::LinalgOp op, llvm::function_ref<void(int64_t, int64_t, AffineExpr)> body) {
  for (auto [operand, map] : llvm::enumerate(op.getIndexingMapsArray()))
    for (auto [dim, expr] : llvm::enumerate(map.getResults()))
      body(operand, dim, expr);
}

static SmallVector<Loop> findLoops(GraphSizes &sizes, linalg::LinalgOp op) {
  SmallVector<Loop> loops(op.getNumLoops());
  forDims(op, [&](int64_t operand, int64_t dim, AffineExpr expr) {
    auto iteration = dyn_cast<AffineDimExpr>(expr);
    if (!iteration)
      return;
    Loop &loop = loops[iteration.getPosition()];
    SizeExpr size = sizes.size(op->getOperand(operand), dim);
    if (!loop.size || (size.getConstant() && !loop.size->getConstant()))
      loop = {size, operand, dim};
  });
  return loops;
}

SmallVector<SizeExpr> mlir::kernel::loopSizes(GraphSizes &sizes, linalg::LinalgOp op) {
  return llvm::map_to_vector(findLoops(sizes, op), [](const Loop &loop) { return loop.size.value_or(0); });
}

void mlir::kernel::boundLoops(Bounds &bounds, Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp)
    return;
  SmallVector<Loop> loops = findLoops(bounds.sizes, linalgOp);
  SmallVector<SizeExpr> counts = loopSizes(bounds.sizes, linalgOp);
  SizeExpr all = 1;
  for (const SizeExpr &count : counts)
    all = all * count;
  forDims(linalgOp, [&](int64_t operand, int64_t dim, AffineExpr expr) {
    std::string place = "dimension " + std::to_string(dim) + " of operand " + std::to_string(operand);
    SizeExpr size = bounds.sizes.size(op->getOperand(operand), dim);
    if (auto iteration = dyn_cast<AffineDimExpr>(expr)) {
      const Loop &loop = loops[iteration.getPosition()];
      bounds.equal(op, *loop.size, size,
                   "dimension " + Twine(loop.dim) + " of operand " + Twine(loop.operand) + " is {0}, but " + place +
                       " is {1}");
      return;
    }
    std::optional<Interval> range = rangeOf(bounds.sizes, expr, counts);
    if (!range)
      return bounds.wrong(op, place + " has an index whose bounds are not known");
    bounds.notNegative(op, range->low, "the least index in " + place + " is {1}", all);
    bounds.atMost(op, range->high + 1, size, place + " must be at least {0}, but is {1}", all);
  });
  // Bodies divide by sizes from outside without a look at them (ScalarOps.cpp).
  linalgOp.getBlock()->walk([&](Operation *nested) {
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
            arith::FloorDivSIOp>(nested))
      if (Value divisor = nested->getOperand(1);
          divisor.getType().isIndex() && !op->isAncestor(divisor.getParentRegion()->getParentOp()))
        bounds.notZero(op, bounds.sizes.scalar(divisor), "divides by {1}", all);
  });
}
