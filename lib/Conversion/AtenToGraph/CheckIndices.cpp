//===- CheckIndices.cpp - the pass aten-check-indices -----------------------------------------------------------===//
//
// Every op that reads or writes where an index tensor says gets a bound that holds when it runs: known from where the
// indices come, promised by an argument (which the runtime checks before the call), or asserted just before the op.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Decompose.h"
#include "IndexRange.h"
#include "Patterns.h"
#include "SizeAnalysis.h"

#include "moe-mlir/Conversion/AtenToGraph/Passes.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::aten {
#define GEN_PASS_DEF_ATENCHECKINDICES
#include "moe-mlir/Conversion/AtenToGraph/Passes.h.inc"
} // namespace mlir::aten

using namespace mlir;
using namespace mlir::aten;

/// Far beyond every size, and far from overflow.
static constexpr int64_t farAway = int64_t(1) << 62;

namespace {
class Checker {
public:
  explicit Checker(func::FuncOp function) : function(function), builder(function.getContext()) {}
  LogicalResult check(Operation *op);

private:
  LogicalResult checkCall(CallOp call);
  LogicalResult checkSelect(CallOp call);
  LogicalResult checkNarrow(CallOp call);
  void checkIndices(Operation *op, Value indices, Value self, int64_t dim, bool wraps);
  void checkCache(nn::CacheUpdateOp op);
  void checkNotNegative(Operation *op, Value integers, StringRef what);
  void checkExtract(tensor::ExtractOp op);

  bool narrow(BlockArgument argument, IndexRange range);
  bool promiseIndex(BlockArgument argument, Value self, int64_t dim, bool wraps);
  StringAttr nameOfSize(Value tensor, int64_t dim);
  std::string describeInput(BlockArgument argument);
  Value getSize(Location loc, Value tensor, int64_t dim);
  Value compare(Location loc, StringRef target, Value tensor, NamedArgument::second_type other);
  void assertAll(Operation *op, Value lower, Value upper, const Twine &message);
  void assertScalar(Operation *op, Value holds, const Twine &message);

  func::FuncOp function;
  OpBuilder builder;
  /// (indices, tensor or null, bound or dimension, wraps) of assertions that stand already.
  llvm::DenseSet<std::tuple<Value, Value, int64_t, int>> done;
};
} // namespace

/// Lets the argument promise that its elements lie in `range` too, if its other promise does not stand in the way.
bool Checker::narrow(BlockArgument argument, IndexRange range) {
  unsigned number = argument.getArgNumber();
  if (function.getArgAttr(number, "moe.range_plus") || function.getArgAttr(number, "moe.state"))
    return false;
  if (std::optional<IndexRange> given = getArgumentRange(argument))
    range = {std::max(range.lo, given->lo), std::min(range.hi, given->hi)};
  if (range.lo > range.hi)
    return false;
  function.setArgAttr(number, "moe.range", builder.getI64ArrayAttr({range.lo, range.hi}));
  return true;
}

/// Lets the argument promise that its elements are positions along `dim` of `self`, if its size has a name. Then a call
/// with others is refused before it begins, and leaves the states as they are.
bool Checker::promiseIndex(BlockArgument argument, Value self, int64_t dim, bool wraps) {
  unsigned number = argument.getArgNumber();
  StringAttr size = nameOfSize(self, dim);
  auto given = function.getArgAttrOfType<StringAttr>(number, "moe.index_of");
  if (!size || (given && given != size) || function.getArgAttr(number, "moe.state") ||
      (!wraps && !narrow(argument, {0, farAway})))
    return false;
  function.setArgAttr(number, "moe.index_of", size);
  return true;
}

/// The name of the arguments' size that this one is.
StringAttr Checker::nameOfSize(Value tensor, int64_t dim) {
  SizeAnalysis sizes;
  SizeExpr wanted = sizes.getSize(tensor, dim);
  for (BlockArgument argument : function.getArguments()) {
    auto names = function.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(), "moe.dims");
    for (auto [i, name] : llvm::enumerate(names ? names.getValue() : ArrayRef<Attribute>()))
      if (!cast<StringAttr>(name).empty() && sizes.getSize(argument, i) == wanted)
        return cast<StringAttr>(name);
  }
  return {};
}

/// "input 'x': " if the elements are those of an argument, which is then what the caller has to change.
std::string Checker::describeInput(BlockArgument argument) {
  auto name = argument ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "moe.name") : StringAttr();
  return name ? "input '" + name.str() + "': " : "";
}

/// As an i64.
Value Checker::getSize(Location loc, Value tensor, int64_t dim) {
  if (int64_t size = getTensorType(tensor).getDimSize(dim); !ShapedType::isDynamic(size))
    return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), size);
  return createSize(builder, loc, tensor, dim);
}

/// In i64: a number is taken in the tensor's type, as by PyTorch, and a narrow one may not hold it.
Value Checker::compare(Location loc, StringRef target, Value tensor, NamedArgument::second_type other) {
  tensor = createCast(builder, loc, tensor, builder.getI64Type());
  return createCall(builder, loc, target, getTensorType(tensor).clone(builder.getI1Type()),
                    {{"self", tensor}, {"other", other}});
}

void Checker::assertScalar(Operation *op, Value holds, const Twine &message) {
  cf::AssertOp::create(builder, op->getLoc(), holds, builder.getStringAttr(message + describePlace(op)));
}

/// `lower` and `upper` are tensors of truth values.
void Checker::assertAll(Operation *op, Value lower, Value upper, const Twine &message) {
  Location loc = op->getLoc();
  Value both =
      createCall(builder, loc, "aten.logical_and.default", lower.getType(), {{"self", lower}, {"other", upper}});
  Value all =
      createCall(builder, loc, "aten.all.default", RankedTensorType::get({}, builder.getI1Type()), {{"self", both}});
  assertScalar(op, tensor::ExtractOp::create(builder, loc, all, ValueRange()), message);
}

/// Elements of `indices` are positions along `dim` of `self`; if `wraps`, negative ones count from the end.
void Checker::checkIndices(Operation *op, Value indices, Value self, int64_t dim, bool wraps) {
  int64_t size = getTensorType(self).getDimSize(dim);
  if (!ShapedType::isDynamic(size)) {
    IndexRange allowed{wraps ? -size : 0, size - 1};
    std::optional<IndexRange> range = getIndexRange(indices);
    if (range && range->isWithin(allowed))
      return;
    if (BlockArgument argument = getIndexArgument(indices))
      if (narrow(argument, allowed))
        return;
    if (!done.insert({indices, Value(), size, wraps}).second)
      return;
  } else {
    if (BlockArgument argument = getIndexArgument(indices))
      if (promiseIndex(argument, self, dim, wraps))
        return;
    if (!done.insert({indices, self, dim, wraps}).second)
      return;
  }
  Location loc = op->getLoc();
  Value end = getSize(loc, self, dim);
  Value lowest = arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), 0);
  if (wraps)
    lowest = arith::SubIOp::create(builder, loc, lowest, end);
  std::string message =
      describeInput(getIndexArgument(indices)) + "an index is outside dimension " + std::to_string(dim);
  if (!ShapedType::isDynamic(size))
    message += ", which has size " + std::to_string(size);
  assertAll(op, compare(loc, "aten.ge.Scalar", indices, lowest), compare(loc, "aten.lt.Scalar", indices, end), message);
}

/// select(self, dim, index), select_scatter: one position.
LogicalResult Checker::checkSelect(CallOp call) {
  Value self = call.getValue("self");
  RankedTensorType type = getTensorType(self);
  std::optional<int64_t> dim = call.getDim("dim", type.getRank()), constant = call.getInt("index");
  Value symbolic = call.getValue("index");
  if (!dim || type.getRank() == 0 || (!constant && !symbolic))
    return success(); // convert-aten-to-linalg refuses it
  int64_t size = type.getDimSize(*dim);
  if (constant && !ShapedType::isDynamic(size)) {
    if (*constant >= -size && *constant < size)
      return success();
    return call.emitError() << "index " << *constant << " is outside dimension " << *dim << ", which has size " << size
                            << describePlace(call);
  }
  Location loc = call.getLoc();
  Value end = getSize(loc, self, *dim), holds;
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), value);
  };
  if (constant) {
    int64_t needed = *constant < 0 ? -*constant : *constant + 1;
    holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, end, number(needed));
  } else {
    Value lowest = arith::SubIOp::create(builder, loc, number(0), end);
    holds = arith::AndIOp::create(builder, loc,
                                  arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, symbolic, lowest),
                                  arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, symbolic, end));
  }
  assertScalar(call, holds, "an index is outside dimension " + std::to_string(*dim));
  return success();
}

/// narrow(self, dim, start, length): unlike a slice, all of it lies in the tensor.
LogicalResult Checker::checkNarrow(CallOp call) {
  Value self = call.getValue("self");
  RankedTensorType type = getTensorType(self);
  std::optional<int64_t> dim = type.getRank() ? call.getDim("dim", type.getRank()) : std::nullopt,
                         start = call.getInt("start"), length = call.getInt("length");
  auto isNumber = [&](StringRef name) { return call.getValue(name) && call.getValue(name).getType().isInteger(64); };
  if (!dim || (!start && !isNumber("start")) || (!length && !isNumber("length")))
    return success(); // convert-aten-to-linalg refuses it
  const int64_t size = type.getDimSize(*dim);
  const std::string message =
      "a range that is narrowed to is outside dimension " + std::to_string(*dim) +
      (ShapedType::isDynamic(size) ? "" : ", which has size " + std::to_string(size));
  if (start && length && !ShapedType::isDynamic(size)) {
    if (*length >= 0 && *length <= size && *start >= -size && (*start < 0 ? *start + size : *start) <= size - *length)
      return success();
    return call.emitError() << message << describePlace(call);
  }
  Location loc = call.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), value);
  };
  auto isAtMost = [&](Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, a, b);
  };
  Value end = getSize(loc, self, *dim), zero = constant(0);
  Value first = start ? constant(*start) : call.getValue("start"),
        count = length ? constant(*length) : call.getValue("length");
  Value isNegative = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, first, zero);
  first = arith::SelectOp::create(builder, loc, isNegative, arith::AddIOp::create(builder, loc, first, end), first);
  Value holds = arith::AndIOp::create(builder, loc, isAtMost(zero, first), isAtMost(zero, count));
  Value last = arith::SubIOp::create(builder, loc, end, count);
  assertScalar(call, arith::AndIOp::create(builder, loc, holds, isAtMost(first, last)), message);
  return success();
}

/// positions[b] ... positions[b] + S - 1 are rows of the cache.
void Checker::checkCache(nn::CacheUpdateOp op) {
  Value cache = op.getCache(), rows = op.getRows(), positions = op.getPositions();
  int64_t length = getTensorType(cache).getDimSize(2), count = getTensorType(rows).getDimSize(1);
  if (!ShapedType::isDynamic(length) && !ShapedType::isDynamic(count)) {
    IndexRange allowed{0, length - count};
    std::optional<IndexRange> range = getIndexRange(positions);
    if (range && range->isWithin(allowed))
      return;
    if (BlockArgument argument = getIndexArgument(positions))
      if (narrow(argument, allowed))
        return;
  } else if (BlockArgument argument = getIndexArgument(positions); argument && !ShapedType::isDynamic(length)) {
    // The argument's range leaves room for as many rows as a dimension has, if that dimension is this one.
    auto plus = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "moe.range_plus");
    std::optional<IndexRange> range = getArgumentRange(argument);
    SizeAnalysis sizes;
    SizeExpr wanted = sizes.getSize(rows, 1);
    for (BlockArgument other : function.getArguments()) {
      auto dims = function.getArgAttrOfType<ArrayAttr>(other.getArgNumber(), "moe.dims");
      for (int64_t dim = 0; plus && dims && dim < int64_t(dims.size()); ++dim)
        if (range && range->lo >= 0 && range->hi < length && dims[dim] == plus && sizes.getSize(other, dim) == wanted)
          return;
    }
  }
  if (!done.insert({positions, cache, 2, false}).second)
    return;
  Location loc = op.getLoc();
  Value zero = arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), 0);
  Value last = arith::SubIOp::create(builder, loc, getSize(loc, cache, 2), getSize(loc, rows, 1));
  std::string message = describeInput(getIndexArgument(positions)) + "a position leaves no room in the cache";
  if (!ShapedType::isDynamic(length))
    message += " of " + std::to_string(length) + " rows";
  assertAll(op, compare(loc, "aten.ge.Scalar", positions, zero), compare(loc, "aten.le.Scalar", positions, last),
            message);
}

void Checker::checkNotNegative(Operation *op, Value integers, StringRef what) {
  if (!integers)
    return;
  IndexRange allowed{0, farAway};
  std::optional<IndexRange> range = getIndexRange(integers);
  if (range && range->isWithin(allowed))
    return;
  if (BlockArgument argument = getIndexArgument(integers))
    if (narrow(argument, allowed))
      return;
  if (!done.insert({integers, Value(), farAway, false}).second)
    return;
  auto number = [&](int64_t value) { return Attribute(builder.getI64IntegerAttr(value)); };
  Location loc = op->getLoc();
  assertAll(op, compare(loc, "aten.ge.Scalar", integers, number(0)),
            compare(loc, "aten.le.Scalar", integers, number(farAway)),
            describeInput(getIndexArgument(integers)) + what + " is negative or too large");
}

/// A single element of a tensor that may be empty.
void Checker::checkExtract(tensor::ExtractOp op) {
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    std::optional<int64_t> constant = getConstantIntValue(index);
    if (!op.getTensor().getType().isDynamicDim(dim) || !constant)
      continue;
    Location loc = op.getLoc();
    Value needed = arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), *constant + 1);
    Value holds =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, getSize(loc, op.getTensor(), dim), needed);
    assertScalar(op, holds, "an index is outside dimension " + std::to_string(dim));
  }
}

LogicalResult Checker::checkCall(CallOp call) {
  StringRef base = call.getBase();
  if (base == "aten.select" || base == "aten.select_scatter")
    return getTensorType(call.getValue("self")) ? checkSelect(call) : success();
  if (base == "aten.narrow")
    return getTensorType(call.getValue("self")) ? checkNarrow(call) : success();
  if (base == "aten.index" || base == "aten.index_put") {
    Value self = call.getValue("self");
    auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument("indices"));
    for (auto [dim, element] : llvm::enumerate(list ? list.getValue() : ArrayRef<Attribute>())) {
      RankedTensorType indices = getTensorType(call.getOperandOf(element)), type = getTensorType(self);
      if (indices && !indices.getElementType().isInteger(1) && type && int64_t(dim) < type.getRank())
        checkIndices(call, call.getOperandOf(element), self, dim, /*wraps=*/true);
    }
    return success();
  }
  checkChoice(builder, call);
  bool embedding = base == "aten.embedding";
  if (!embedding && base != "aten.gather" && base != "aten.index_select" && base != "aten.index_copy" &&
      base != "aten.index_add" && base != "aten.scatter")
    return success();
  Value self = call.getValue(embedding ? "weight" : "self"), indices = call.getValue(embedding ? "indices" : "index");
  RankedTensorType type = getTensorType(self);
  if (!type || type.getRank() == 0 || !getTensorType(indices))
    return success();
  if (std::optional<int64_t> dim = embedding ? 0 : call.getDim("dim", type.getRank()))
    checkIndices(call, indices, self, *dim, /*wraps=*/false);
  return success();
}

LogicalResult Checker::check(Operation *op) {
  builder.setInsertionPoint(op);
  if (auto call = dyn_cast<CallOp>(op))
    return checkCall(call);
  if (auto embedding = dyn_cast<nn::EmbeddingOp>(op)) {
    checkIndices(op, embedding.getIds(), embedding.getTable(), 0, /*wraps=*/false);
  } else if (auto update = dyn_cast<nn::CacheUpdateOp>(op)) {
    checkCache(update);
  } else if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
    checkNotNegative(op, attention.getPositions(), "a position");
    checkNotNegative(op, attention.getLengths(), "a length");
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    checkExtract(extract);
  }
  // What is left unmarked is looked at again when kernels are made.
  if (isa<nn::EmbeddingOp, nn::CacheUpdateOp, nn::AttentionOp>(op))
    op->setAttr("moe.in_bounds", builder.getUnitAttr());
  return success();
}

namespace {
struct AtenCheckIndices : aten::impl::AtenCheckIndicesBase<AtenCheckIndices> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!llvm::hasSingleElement(function.getBody()))
      return;
    Checker checker(function);
    SmallVector<Operation *> ops;
    for (Operation &op : function.getBody().front())
      ops.push_back(&op);
    for (Operation *op : ops)
      if (failed(checker.check(op)))
        return signalPassFailure();
  }
};
} // namespace
