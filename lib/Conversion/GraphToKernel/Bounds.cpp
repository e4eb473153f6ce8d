//===- Bounds.cpp - the pass graph-check-bounds -----------------------------------------------------------------===//
//
// A kernel takes the sizes that its op names by one symbol as one size. Where types do not say that they are, the host
// program compares them before anything runs: they are a few integers per call.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Bounds.h"

#include "moe-mlir/Conversion/GraphToKernel/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHCHECKBOUNDS
#include "moe-mlir/Conversion/GraphToKernel/Passes.h.inc"
} // namespace mlir::kernel

using namespace mlir;
using namespace mlir::kernel;

/// " (nn.linear at model.py:7)"
static std::string describe(Operation *op) {
  std::string text = " (" + op->getName().getStringRef().str();
  if (auto loc = op->getLoc()->findInstanceOf<FileLineColLoc>())
    text += " at " + loc.getFilename().str() + ":" + std::to_string(loc.getLine());
  return text + ")";
}

static void replace(std::string &text, StringRef place, int64_t value) {
  if (size_t at = text.find(place); at != std::string::npos)
    text.replace(at, place.size(), std::to_string(value));
}

void Bounds::wrong(Operation *op, const Twine &text) {
  hasFailed = true;
  op->emitOpError() << text;
}

void Bounds::check(Operation *op, OpBuilder &builder, Value holds, const Twine &text, ValueRange values) {
  CheckOp::create(builder, op->getLoc(), holds, (text + describe(op)).str(), values);
}

void Bounds::equal(Operation *op, const SizeExpr &x, const SizeExpr &y, const Twine &text) {
  require(op, Relation::Equal, x, y, text, std::nullopt);
}

void Bounds::equalOrOne(Operation *op, const SizeExpr &x, const SizeExpr &y, const Twine &text) {
  if (std::optional<int64_t> size = y.getConstant())
    return *size == 1 ? void() : equal(op, x, y, text);
  require(op, Relation::EqualOrOne, x, y, text, std::nullopt);
}

void Bounds::atMost(Operation *op, const SizeExpr &x, const SizeExpr &y, const Twine &text,
                    std::optional<SizeExpr> count) {
  require(op, Relation::AtMost, x, y, text, count);
}

void Bounds::notNegative(Operation *op, const SizeExpr &x, const Twine &text, std::optional<SizeExpr> count) {
  require(op, Relation::AtMost, 0, x, text, count);
}

void Bounds::notZero(Operation *op, const SizeExpr &x, const Twine &text, std::optional<SizeExpr> count) {
  if (!sizes.isNonNegative(x - 1))
    require(op, Relation::Different, 0, x, text, count);
}

bool Bounds::moveBehind(ArrayRef<SizeExpr> known) {
  Operation *last = nullptr;
  for (const SizeExpr &size : known)
    if (Operation *definition = sizes.lastDefinition(size))
      last = !last || last->isBeforeInBlock(definition) ? definition : last;
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPoint(top);
  return last;
}

void Bounds::fits(Operation *op, const SizeExpr &x) {
  SizeExpr size = sizes.reduce(x);
  if (sizes.fits(size) || !fitting.insert(size.terms).second)
    return;
  (void)moveBehind(size);
  Value whole;
  (void)sizes.materialize(builder, op->getLoc(), size, whole);
  if (whole)
    check(op, builder, whole, "makes a number that 64 bits do not hold", {});
}

void Bounds::require(Operation *op, Relation relation, const SizeExpr &x, const SizeExpr &y, const Twine &text,
                     std::optional<SizeExpr> count) {
  SizeExpr difference = sizes.reduce(y - x);
  bool isSame = difference == SizeExpr(0);
  switch (relation) {
  case Relation::Equal:
  case Relation::EqualOrOne:
    if (isSame)
      return;
    break;
  case Relation::AtMost:
    if (sizes.isNonNegative(difference))
      return;
    break;
  case Relation::Different:
    if (!isSame && difference.getConstant())
      return;
    break;
  }
  std::optional<int64_t> always = count ? sizes.reduce(*count).getConstant() : std::optional<int64_t>(1);
  if (always == 0)
    return;
  if (auto u = x.getConstant(), v = y.getConstant(); u && v && always) {
    std::string message = text.str();
    replace(message, "{0}", *u);
    replace(message, "{1}", *v);
    return wrong(op, message);
  }
  if (!done.insert({relation, x.terms, y.terms, count ? count->terms : Terms()}).second)
    return;

  const bool isFirst = !moveBehind({x, y, count.value_or(0)});
  Location loc = op->getLoc();
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  // The largest number stands for one that 64 bits do not hold.
  Value whole;
  auto value = [&](const SizeExpr &size) -> Value {
    Value own, result = sizes.materialize(builder, loc, size, own);
    if (!own)
      return result;
    whole = whole ? arith::AndIOp::create(builder, loc, whole, own).getResult() : own;
    Value largest = arith::ConstantIndexOp::create(builder, loc, INT64_MAX);
    return arith::SelectOp::create(builder, loc, own, result, largest);
  };
  Value a = value(x), b = value(y);
  Value holds = compare(relation == Relation::AtMost      ? arith::CmpIPredicate::sle
                        : relation == Relation::Different ? arith::CmpIPredicate::ne
                                                          : arith::CmpIPredicate::eq,
                        a, b);
  auto allow = [&](Value size, int64_t value) {
    Value other = arith::ConstantIndexOp::create(builder, loc, value);
    holds = arith::OrIOp::create(builder, loc, holds, compare(arith::CmpIPredicate::eq, size, other));
  };
  if (relation == Relation::EqualOrOne)
    allow(b, 1);
  if (whole)
    holds = arith::AndIOp::create(builder, loc, holds, whole);
  if (count && !always)
    allow(value(*count), 0);
  check(op, builder, holds, text, {a, b});
  if (relation == Relation::Equal && isFirst)
    sizes.assume(y - x);
  if (relation == Relation::AtMost && !count && x == SizeExpr(0))
    sizes.assumeNotNegative(y);
}

/// Values that become states must fill them.
static void boundStates(Bounds &bounds, func::FuncOp function) {
  auto exit = dyn_cast<func::ReturnOp>(function.front().getTerminator());
  for (unsigned i = 0, e = exit ? exit.getNumOperands() : 0; i < e; ++i)
    if (auto state = function.getResultAttrOfType<IntegerAttr>(i, "moe.state_of")) {
      Value argument = function.getArgument(state.getInt()), value = exit.getOperand(i);
      auto type = dyn_cast<RankedTensorType>(value.getType());
      for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim)
        bounds.equal(exit, bounds.sizes.size(argument, dim), bounds.sizes.size(value, dim),
                     "dimension " + Twine(dim) + " of argument " + Twine(state.getInt()) +
                         ", a state, is {0} but its next value's is {1}");
    }
}

/// A result has the sizes that it is declared with by the names of arguments' sizes: callers count on them.
static void boundResults(Bounds &bounds, func::FuncOp function) {
  auto exit = dyn_cast<func::ReturnOp>(function.front().getTerminator());
  for (unsigned i = 0, e = exit ? exit.getNumOperands() : 0; i < e; ++i) {
    auto type = dyn_cast<RankedTensorType>(exit.getOperand(i).getType());
    auto dims = function.getResultAttrOfType<ArrayAttr>(i, "moe.dims");
    for (int64_t dim = 0, rank = type && dims ? type.getRank() : 0; dim < rank; ++dim) {
      auto name = dyn_cast<StringAttr>(dims[dim]);
      std::optional<SizeExpr> declared = name && !name.empty() ? bounds.sizes.ofName(name) : std::nullopt;
      if (declared)
        bounds.equal(exit, *declared, bounds.sizes.size(exit.getOperand(i), dim),
                     "'" + name.getValue() + "' is {0}, but dimension " + Twine(dim) + " of result " + Twine(i) +
                         " with this name is {1}");
    }
  }
}

/// What the op takes as a size or an index is the number that it was computed to be.
static void boundNumbers(Bounds &bounds, Operation *op, llvm::DenseSet<Operation *> &seen) {
  if (isa_and_present<arith::ArithDialect>(op->getDialect()))
    return; // whoever takes its result asks
  SmallVector<Value> numbers;
  op->walk([&](Operation *user) {
    for (Value operand : user->getOperands())
      if (operand.getType().isIndex() || isa<arith::IndexCastOp>(user))
        numbers.push_back(operand);
  });
  if (auto reshape = dyn_cast<tensor::ReshapeOp>(op))
    if (auto shape = reshape.getShape().getDefiningOp<tensor::FromElementsOp>())
      llvm::append_range(numbers, shape.getElements());
  while (!numbers.empty()) {
    Operation *source = numbers.pop_back_val().getDefiningOp();
    if (!source || source->getBlock() != op->getBlock() ||
        !isa_and_present<arith::ArithDialect>(source->getDialect()) || !seen.insert(source).second)
      continue;
    if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(source))
      bounds.fits(source, bounds.sizes.scalar(source->getResult(0)));
    llvm::append_range(numbers, source->getOperands());
  }
}

namespace {
struct GraphCheckBounds : kernel::impl::GraphCheckBoundsBase<GraphCheckBounds> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
      return;
    Bounds bounds(function);
    SmallVector<Operation *> ops;
    llvm::DenseSet<Operation *> seen;
    for (Operation &op : function.front())
      ops.push_back(&op);
    for (Operation *op : ops) {
      // Types that convert-graph-to-kernel refuses.
      if (llvm::any_of(llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()),
                       llvm::IsaPred<UnrankedTensorType>))
        continue;
      bounds.sizes.visit(op);
      boundNumbers(bounds, op, seen);
      boundShapes(bounds, op);
      boundTensors(bounds, op);
      boundLoops(bounds, op);
      boundIndices(bounds, op);
    }
    boundStates(bounds, function);
    boundResults(bounds, function);
    if (bounds.failed())
      signalPassFailure();
  }
};
} // namespace
