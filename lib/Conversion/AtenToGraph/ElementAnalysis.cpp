//===- ElementAnalysis.cpp - what an element of an index or mask tensor is ----------------------------------------===//

#include "ElementAnalysis.h"

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::aten;

// Symbols: coordinates first, then sizes (even offsets) and loads (odd offsets).
static unsigned sizeSymbol(unsigned number) { return ElementAnalysis::maxCoordinates + 2 * number; }
static unsigned loadSymbol(unsigned number) { return ElementAnalysis::maxCoordinates + 2 * number + 1; }

Element Element::condition(SizeExpr notPositive) {
  if (std::optional<int64_t> constant = notPositive.getConstant())
    return truth(*constant <= 0);
  return {Boolean, {}, {std::move(notPositive)}};
}

static Element conjunction(Element a, const Element &b) {
  if (a.kind != Element::Boolean || b.kind != Element::Boolean)
    return a.isFalse() ? a : b.isFalse() ? b : Element();
  if (a.isFalse() || b.isFalse())
    return Element::truth(false);
  for (const SizeExpr &condition : b.conditions)
    if (!llvm::is_contained(a.conditions, condition))
      a.conditions.push_back(condition);
  return a;
}

static Element disjunction(const Element &a, const Element &b) {
  if (a.isTrue() || b.isFalse())
    return a;
  if (b.isTrue() || a.isFalse())
    return b;
  return {};
}

/// not (x <= 0) is 1 - x <= 0 on integers; a conjunction of several has no such form.
static Element negation(const Element &a) {
  if (a.isTrue() || a.isFalse())
    return Element::truth(a.isFalse());
  if (a.kind != Element::Boolean || a.conditions.size() != 1)
    return {};
  return Element::condition(SizeExpr(1) - a.conditions[0]);
}

static Element comparison(StringRef op, const Element &a, const Element &b) {
  if (a.kind != Element::Integer || b.kind != Element::Integer)
    return {};
  SizeExpr difference = a.integer - b.integer;
  if (op == "le")
    return Element::condition(difference);
  if (op == "lt")
    return Element::condition(difference + 1);
  if (op == "ge")
    return Element::condition(SizeExpr() - difference);
  if (op == "gt")
    return Element::condition(SizeExpr(1) - difference);
  Element equal = conjunction(Element::condition(difference), Element::condition(SizeExpr() - difference));
  return op == "eq" ? equal : negation(equal);
}

SizeExpr ElementAnalysis::import(const SizeExpr &size) {
  SizeExpr result;
  for (const auto &[factors, coefficient] : size.terms) {
    SizeExpr term = coefficient;
    for (unsigned factor : factors)
      term = term * SizeExpr::symbol(sizeSymbol(factor));
    result = result + term;
  }
  return result;
}

Element ElementAnalysis::load(Value tensor, ArrayRef<SizeExpr> index) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (!type.getElementType().isSignlessInteger() || type.getElementType().isInteger(1))
    return {};
  for (auto [i, known] : llvm::enumerate(loads))
    if (known.tensor == tensor && ArrayRef<SizeExpr>(known.index) == index)
      return Element::number(SizeExpr::symbol(loadSymbol(i)));
  loads.push_back({tensor, SmallVector<SizeExpr>(index)});
  return Element::number(SizeExpr::symbol(loadSymbol(loads.size() - 1)));
}

/// Index of an operand that is broadcast to `index`: aligned at the last dimension, 0 where it is one element wide.
static std::optional<SmallVector<SizeExpr>> broadcastIndex(Value operand, ArrayRef<SizeExpr> index) {
  auto type = cast<RankedTensorType>(operand.getType());
  if (type.getRank() > int64_t(index.size()))
    return std::nullopt;
  SmallVector<SizeExpr> own(index.take_back(type.getRank()));
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) == 1)
      own[dim] = 0;
  return own;
}

Element ElementAnalysis::evaluateBroadcast(Value tensor, unsigned rank) {
  SmallVector<SizeExpr> index;
  for (unsigned i = 0; i < rank; ++i)
    index.push_back(coordinate(i));
  auto own = broadcastIndex(tensor, index);
  return own ? evaluate(tensor, *own) : Element();
}

/// A tensor or scalar argument of an elementwise call.
Element ElementAnalysis::evaluateOperand(CallOp call, StringRef name, ArrayRef<SizeExpr> index) {
  if (std::optional<int64_t> integer = call.getInt(name))
    return Element::number(*integer);
  if (std::optional<bool> boolean = call.getBool(name))
    return Element::truth(*boolean);
  Value value = call.getValue(name);
  if (!value)
    return {};
  if (!isa<RankedTensorType>(value.getType()))
    return value.getType().isInteger(64) ? Element::number(import(sizes.getScalar(value))) : Element();
  auto own = broadcastIndex(value, index);
  return own ? evaluate(value, *own) : Element();
}

/// A dimension of a tensor of that rank. Without dimensions there is no coordinate to change, although calls may name
/// dimension 0.
static std::optional<int64_t> coordinateOf(CallOp call, StringRef name, int64_t rank) {
  return rank > 0 ? call.getDim(name, rank) : std::nullopt;
}

/// x[i] - x[i-1], and x[0] - prepend[0] at the front. Known where both give the same expression.
Element ElementAnalysis::evaluateDiff(CallOp call, ArrayRef<SizeExpr> index) {
  Value self = call.getValue("self"), prepend = call.getValue("prepend");
  std::optional<int64_t> dim = coordinateOf(call, "dim", index.size());
  auto prependType = prepend ? dyn_cast<RankedTensorType>(prepend.getType()) : RankedTensorType();
  if (!self || !dim || !prependType || prependType.getRank() != int64_t(index.size()) ||
      call.getInt("n").value_or(1) != 1 || call.getArgument("append") || prependType.getDimSize(*dim) != 1)
    return {};
  auto at = [&](Value tensor, SizeExpr position) {
    SmallVector<SizeExpr> moved(index);
    moved[*dim] = std::move(position);
    return evaluate(tensor, moved);
  };
  Element here = at(self, index[*dim]), before = at(self, index[*dim] - 1), first = at(self, 0), pad = at(prepend, 0);
  for (const Element *element : {&here, &before, &first, &pad})
    if (element->kind != Element::Integer)
      return {};
  SizeExpr inside = here.integer - before.integer, front = first.integer - pad.integer;
  return inside == front ? Element::number(inside) : Element();
}

/// self[i0, i1, ...] with index tensors for the leading dimensions.
Element ElementAnalysis::evaluateIndex(CallOp call, ArrayRef<SizeExpr> index) {
  Value self = call.getValue("self");
  auto indices = dyn_cast_or_null<ArrayAttr>(call.getArgument("indices"));
  int64_t rest = self && indices ? cast<RankedTensorType>(self.getType()).getRank() - int64_t(indices.size()) : -1;
  if (rest < 0 || rest > int64_t(index.size()))
    return {};
  SmallVector<SizeExpr> position;
  for (Attribute attr : indices) {
    Value tensor = call.getOperandOf(attr);
    auto own = tensor ? broadcastIndex(tensor, index.drop_back(rest)) : std::nullopt;
    Element element = own ? evaluate(tensor, *own) : Element();
    if (element.kind != Element::Integer)
      return {};
    position.push_back(element.integer);
  }
  llvm::append_range(position, index.take_back(rest));
  return evaluate(self, position);
}

Element ElementAnalysis::evaluateCall(CallOp call, ArrayRef<SizeExpr> index) {
  StringRef op = call.getBase();
  if (!op.consume_front("aten."))
    return {};
  Value self = call.getValue("self");
  int64_t rank = index.size();
  auto operand = [&](StringRef name) { return evaluateOperand(call, name, index); };

  if (op == "arange") {
    auto scalar = [&](StringRef name, int64_t otherwise) {
      return call.getArgument(name) ? evaluateOperand(call, name, {}) : Element::number(otherwise);
    };
    Element start = scalar("start", 0), step = scalar("step", 1);
    if (start.kind != Element::Integer || step.kind != Element::Integer)
      return {};
    return rank == 1 ? Element::number(start.integer + step.integer * index[0]) : Element();
  }
  if (op == "zeros" || op == "zeros_like" || op == "new_zeros" || op == "ones" || op == "ones_like" ||
      op == "new_ones") {
    bool one = op.contains("ones");
    Type type = cast<RankedTensorType>(call.getResult(0).getType()).getElementType();
    return type.isInteger(1) ? Element::truth(one) : isa<IntegerType>(type) ? Element::number(one) : Element();
  }
  if (op == "full" || op == "full_like" || op == "new_full")
    return operand("fill_value");
  if (op == "scalar_tensor")
    return operand("s");
  if (op == "add" || op == "sub") {
    Element a = operand("self"), b = operand("other");
    if (a.kind != Element::Integer || b.kind != Element::Integer || call.getInt("alpha").value_or(1) != 1)
      return {};
    return Element::number(op == "add" ? a.integer + b.integer : a.integer - b.integer);
  }
  if (op == "mul") {
    Element a = operand("self"), b = operand("other");
    return a.kind == Element::Integer && b.kind == Element::Integer ? Element::number(a.integer * b.integer)
                                                                    : Element();
  }
  if (op == "neg") {
    Element a = operand("self");
    return a.kind == Element::Integer ? Element::number(SizeExpr() - a.integer) : Element();
  }
  if (op == "le" || op == "lt" || op == "ge" || op == "gt" || op == "eq" || op == "ne")
    return comparison(op, operand("self"), operand("other"));
  if (op == "__and__" || op == "bitwise_and" || op == "logical_and")
    return conjunction(operand("self"), operand("other"));
  if (op == "__or__" || op == "bitwise_or" || op == "logical_or")
    return disjunction(operand("self"), operand("other"));
  if (op == "bitwise_not" || op == "logical_not")
    return negation(operand("self"));
  if (op == "masked_fill") {
    Element base = operand("self"), mask = operand("mask"), value = operand("value");
    return value.isFalse() ? conjunction(base, negation(mask)) : value.isTrue() ? disjunction(base, mask) : Element();
  }
  if (!self)
    return {};

  auto selfType = dyn_cast<RankedTensorType>(self.getType());
  if (!selfType)
    return {};
  if (op == "to" || op == "type_as") {
    Element element = evaluate(self, index);
    Type to = cast<RankedTensorType>(call.getResult(0).getType()).getElementType();
    if (to.isInteger(1))
      return element.kind == Element::Boolean ? element : Element();
    if (!isa<IntegerType>(to))
      return {};
    if (element.isTrue() || element.isFalse())
      return Element::number(element.isTrue());
    return element.kind == Element::Integer ? element : Element();
  }
  if (op == "clone" || op == "contiguous" || op == "alias" || op == "detach" || op == "lift_fresh_copy")
    return evaluate(self, index);
  if (op == "expand") {
    auto own = broadcastIndex(self, index);
    return own ? evaluate(self, *own) : Element();
  }
  SmallVector<SizeExpr> own(index);
  if (op == "unsqueeze") {
    std::optional<int64_t> dim = coordinateOf(call, "dim", rank);
    if (!dim)
      return {};
    own.erase(own.begin() + *dim);
    return evaluate(self, own);
  }
  if (op == "select" || (op == "squeeze" && selfType.getRank() == rank + 1)) {
    std::optional<int64_t> dim = call.getDim("dim", rank + 1);
    Element at = op == "select" ? evaluateOperand(call, "index", {}) : Element::number(0);
    if (!dim || at.kind != Element::Integer || at.integer.getConstant().value_or(0) < 0)
      return {};
    own.insert(own.begin() + *dim, at.integer);
    return evaluate(self, own);
  }
  if (op == "slice") {
    std::optional<int64_t> dim = coordinateOf(call, "dim", rank);
    Element start = call.getArgument("start") ? evaluateOperand(call, "start", {}) : Element::number(0);
    if (!dim || start.kind != Element::Integer || start.integer.getConstant().value_or(0) < 0)
      return {};
    own[*dim] = start.integer + own[*dim] * call.getInt("step").value_or(1);
    return evaluate(self, own);
  }
  if (op == "transpose") {
    std::optional<int64_t> a = coordinateOf(call, "dim0", rank), b = coordinateOf(call, "dim1", rank);
    if (!a || !b)
      return {};
    std::swap(own[*a], own[*b]);
    return evaluate(self, own);
  }
  if (op == "view" || op == "reshape") { // only dimensions of size one come or go
    auto result = cast<RankedTensorType>(call.getResult(0).getType());
    SmallVector<SizeExpr> moving;
    SmallVector<int64_t> shape;
    for (int64_t dim = 0; dim < rank; ++dim)
      if (result.getDimSize(dim) != 1) {
        moving.push_back(index[dim]);
        shape.push_back(result.getDimSize(dim));
      }
    own.clear();
    size_t next = 0;
    for (int64_t size : selfType.getShape()) {
      if (size == 1) {
        own.push_back(0);
        continue;
      }
      if (next == moving.size() || shape[next] != size)
        return {};
      own.push_back(moving[next++]);
    }
    return next == moving.size() ? evaluate(self, own) : Element();
  }
  if (op == "cumsum") {
    std::optional<int64_t> dim = coordinateOf(call, "dim", rank);
    Element element = evaluate(self, index);
    if (element.isTrue() || element.isFalse())
      element = Element::number(element.isTrue());
    std::optional<int64_t> step = element.kind == Element::Integer ? element.integer.getConstant() : std::nullopt;
    return dim && step ? Element::number((index[*dim] + 1) * *step) : Element();
  }
  if (op == "diff")
    return evaluateDiff(call, index);
  if (op == "index")
    return evaluateIndex(call, index);
  return {};
}

Element ElementAnalysis::evaluate(Value tensor, ArrayRef<SizeExpr> index) {
  // Where a call's type contradicts its operands', the index fits the one only.
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || type.getRank() != int64_t(index.size()))
    return {};
  DenseElementsAttr constant;
  if (matchPattern(tensor, m_Constant(&constant))) {
    if (!constant.isSplat() || !isa<IntegerType>(constant.getElementType()))
      return {};
    APInt value = constant.getSplatValue<APInt>();
    return constant.getElementType().isInteger(1) ? Element::truth(value.getBoolValue())
                                                  : Element::number(value.getSExtValue());
  }
  if (auto call = tensor.getDefiningOp<CallOp>()) {
    Element element = evaluateCall(call, index);
    return element.kind == Element::Unknown ? load(tensor, index) : element;
  }
  return load(tensor, index);
}

Value ElementAnalysis::materializeRow(OpBuilder &builder, Location loc, const SizeExpr &element, Value like,
                                      int64_t likeDim) {
  SizeExpr wanted = sizes.getSize(like, likeDim);
  // One element of an argument, or all of them in order.
  if (element.terms.size() == 1 && element.terms.begin()->second == 1 && element.terms.begin()->first.size() == 1)
    for (auto [i, load] : llvm::enumerate(loads)) {
      if (element != SizeExpr::symbol(loadSymbol(i)) || load.index.size() != 1 ||
          sizes.getSize(load.tensor, 0) != wanted)
        continue;
      if (load.index[0] == coordinate(0))
        return load.tensor;
      auto argument = dyn_cast<BlockArgument>(load.tensor);
      auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
      if (!function || load.index[0] != SizeExpr(0))
        continue;
      function.setArgAttr(argument.getArgNumber(), "moe.uniform", builder.getUnitAttr());
      return load.tensor;
    }

  Value sum;
  for (const auto &[factors, coefficient] : element.terms) {
    Value product = arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), coefficient);
    for (unsigned symbol : factors) {
      if (symbol < maxCoordinates)
        return {};
      unsigned number = (symbol - maxCoordinates) / 2;
      Value factor;
      if (symbol == sizeSymbol(number)) {
        factor = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                            sizes.materialize(builder, loc, SizeExpr::symbol(number)));
      } else {
        SmallVector<Value> index;
        for (const SizeExpr &expression : loads[number].index) {
          if (!expression.getConstant())
            return {};
          index.push_back(arith::ConstantIndexOp::create(builder, loc, *expression.getConstant()));
        }
        factor = tensor::ExtractOp::create(builder, loc, loads[number].tensor, index);
        if (!factor.getType().isInteger(64))
          factor = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), factor);
      }
      product = arith::MulIOp::create(builder, loc, product, factor);
    }
    sum = sum ? Value(arith::AddIOp::create(builder, loc, sum, product)) : product;
  }
  if (!sum)
    sum = arith::ConstantIntOp::create(builder, loc, builder.getI64Type(), 0);
  Value empty =
      tensor::EmptyOp::create(builder, loc, {sizes.materializeFolded(builder, loc, wanted)}, builder.getI64Type());
  return linalg::FillOp::create(builder, loc, sum, empty).getResult(0);
}
