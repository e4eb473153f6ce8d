//===- Symbolic.cpp - symbolic integers and what says nothing about values ----------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::aten;

static Values lowerSymSize(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  std::optional<int64_t> dim = l.call.getDim("dim", cast<RankedTensorType>(self.getType()).getRank());
  if (!dim)
    return std::nullopt;
  Value size = l.getIndex(l.getSize(self, *dim));
  return {{arith::IndexCastOp::create(l.b, l.loc, l.b.getI64Type(), size)}};
}

/// The two operands of a Python operator, whatever the exporter calls them, in the order in which they stand.
static std::optional<std::pair<Value, Value>> getPair(Lowering &l) {
  for (auto [first, second] : {std::pair("a", "b"), std::pair("self", "other"), std::pair("x", "y")}) {
    Value lhs = l.getScalar(first), rhs = l.getScalar(second);
    if (lhs && rhs && lhs.getType().isInteger(64) && rhs.getType().isInteger(64))
      return std::pair(lhs, rhs);
  }
  return std::nullopt;
}

template <typename Op> static Values lowerInteger(Lowering &l) {
  auto pair = getPair(l);
  if (!pair)
    return std::nullopt;
  return {{Op::create(l.b, l.loc, pair->first, pair->second)}};
}

/// a % b, with the sign of b as in Python.
static Values lowerModulo(Lowering &l) {
  auto pair = getPair(l);
  if (!pair)
    return std::nullopt;
  auto [a, b] = *pair;
  Value whole = arith::FloorDivSIOp::create(l.b, l.loc, a, b);
  return {{arith::SubIOp::create(l.b, l.loc, a, arith::MulIOp::create(l.b, l.loc, whole, b))}};
}

/// -a.
static Values lowerNegation(Lowering &l) {
  for (StringRef name : {"a", "self", "x"})
    if (Value value = l.getScalar(name); value && value.getType().isInteger(64)) {
      Value zero = arith::ConstantOp::create(l.b, l.loc, l.b.getI64IntegerAttr(0));
      return {{arith::SubIOp::create(l.b, l.loc, zero, value)}};
    }
  return std::nullopt;
}

/// A tensor of one element as a number.
static Values lowerItem(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  auto type = cast<RankedTensorType>(self.getType());
  if (type.getRank() != 0 || l.call.getNumResults() != 1)
    return std::nullopt;
  Value element = tensor::ExtractOp::create(l.b, l.loc, self, ValueRange());
  return {{convertScalar(l.b, l.loc, element, l.call.getResult(0).getType())}};
}

/// Assertions of the exporter: the executable checks its inputs itself.
static Values lowerNothing(Lowering &l) {
  if (l.call.getNumResults())
    return std::nullopt;
  return SmallVector<Value>();
}

void mlir::aten::addSymbolic(LoweringTable &table) {
  table["aten.sym_size"] = lowerSymSize;
  table["_operator.add"] = lowerInteger<arith::AddIOp>;
  table["_operator.sub"] = lowerInteger<arith::SubIOp>;
  table["_operator.mul"] = lowerInteger<arith::MulIOp>;
  table["_operator.floordiv"] = lowerInteger<arith::FloorDivSIOp>;
  table["_operator.mod"] = lowerModulo;
  table["_operator.neg"] = lowerNegation;
  table["torch.sym_min"] = lowerInteger<arith::MinSIOp>;
  table["torch.sym_max"] = lowerInteger<arith::MaxSIOp>;
  for (StringRef name : {"aten.item", "aten._local_scalar_dense"})
    table[name] = lowerItem;
  for (StringRef name : {"aten._assert_tensor_metadata", "aten._assert_scalar", "aten._assert_async",
                         "aten.sym_constrain_range", "aten.sym_constrain_range_for_size"})
    table[name] = lowerNothing;
}
