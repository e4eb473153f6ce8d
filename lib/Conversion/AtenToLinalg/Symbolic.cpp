//===- Symbolic.cpp - symbolic integers and what says nothing about values ----------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

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

/// The two operands of a Python operator, whatever the exporter calls them, in the order in which they stand. Numbers
/// of two kinds meet as floats, truth values as whole numbers.
static std::optional<std::pair<Value, Value>> getPair(Lowering &l) {
  for (auto [first, second] : {std::pair("a", "b"), std::pair("self", "other"), std::pair("x", "y")}) {
    Value lhs = l.getScalar(first), rhs = l.getScalar(second);
    if (!lhs || !rhs)
      continue;
    const bool areFloats = isa<FloatType>(lhs.getType()) || isa<FloatType>(rhs.getType());
    Type common = areFloats ? Type(l.b.getF64Type()) : l.b.getI64Type();
    return std::pair(convertScalar(l.b, l.loc, lhs, common), convertScalar(l.b, l.loc, rhs, common));
  }
  return std::nullopt;
}

/// Python's integers have no end; here a number beyond 64 bits ends the call. Sizes are far from it.
template <typename Op> static Value createInteger(Lowering &l, Value a, Value b) {
  if (!getOrigin(a).elements && !getOrigin(b).elements)
    return Op::create(l.b, l.loc, a, b);
  auto isNegative = [&](Value number) -> Value {
    Value zero = arith::ConstantIntOp::create(l.b, l.loc, 0, 64);
    return arith::CmpIOp::create(l.b, l.loc, arith::CmpIPredicate::slt, number, zero);
  };
  Value result, fits;
  if (std::is_same_v<Op, arith::MulIOp>) {
    auto product = arith::MulSIExtendedOp::create(l.b, l.loc, a, b);
    result = product.getLow();
    Value sign =
        arith::SelectOp::create(l.b, l.loc, isNegative(result), arith::ConstantIntOp::create(l.b, l.loc, -1, 64),
                                arith::ConstantIntOp::create(l.b, l.loc, 0, 64));
    fits = arith::CmpIOp::create(l.b, l.loc, arith::CmpIPredicate::eq, product.getHigh(), sign);
  } else {
    // It does not fit if the operands of a sum have one sign and the sum the other.
    result = Op::create(l.b, l.loc, a, b);
    const bool isSum = std::is_same_v<Op, arith::AddIOp>;
    Value sum = isSum ? result : a, one = isSum ? a : result;
    Value both = arith::AndIOp::create(l.b, l.loc, arith::XOrIOp::create(l.b, l.loc, one, sum),
                                       arith::XOrIOp::create(l.b, l.loc, b, sum));
    Value truth = arith::ConstantOp::create(l.b, l.loc, l.b.getBoolAttr(true));
    fits = arith::XOrIOp::create(l.b, l.loc, isNegative(both), truth);
  }
  cf::AssertOp::create(l.b, l.loc, fits,
                       "a number that the model computes does not fit 64 bits" + describePlace(l.call));
  return result;
}

template <typename Op> static Values lowerInteger(Lowering &l) {
  auto pair = getPair(l);
  if (!pair || isa<FloatType>(pair->first.getType()))
    return std::nullopt;
  return {{Op::create(l.b, l.loc, pair->first, pair->second)}};
}

template <typename Integers, typename Floats> static Values lowerNumber(Lowering &l) {
  auto pair = getPair(l);
  if (!pair || pair->first.getType() != l.call.getResult(0).getType())
    return std::nullopt;
  if (isa<FloatType>(pair->first.getType()))
    return {{Floats::create(l.b, l.loc, pair->first, pair->second)}};
  return {{createInteger<Integers>(l, pair->first, pair->second)}};
}

template <arith::CmpIPredicate integers, arith::CmpFPredicate floats> static Values lowerComparison(Lowering &l) {
  auto pair = getPair(l);
  if (!pair)
    return std::nullopt;
  if (isa<FloatType>(pair->first.getType()))
    return {{arith::CmpFOp::create(l.b, l.loc, floats, pair->first, pair->second)}};
  return {{arith::CmpIOp::create(l.b, l.loc, integers, pair->first, pair->second)}};
}

/// a % b, with the sign of b as in Python.
static Values lowerModulo(Lowering &l) {
  auto pair = getPair(l);
  if (!pair || isa<FloatType>(pair->first.getType()))
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

/// a & b, a | b of truth values.
template <typename Op> static Values lowerLogic(Lowering &l) {
  auto pair = getPair(l);
  Type truth = l.b.getI1Type();
  if (!pair || !pair->first.getType().isInteger(64) || l.call.getResult(0).getType() != truth)
    return std::nullopt;
  Value lhs = convertScalar(l.b, l.loc, pair->first, truth), rhs = convertScalar(l.b, l.loc, pair->second, truth);
  return {{Op::create(l.b, l.loc, lhs, rhs)}};
}

/// not a.
static Values lowerNot(Lowering &l) {
  for (StringRef name : {"a", "self", "x"})
    if (Value value = l.getScalar(name); value && value.getType().isInteger(1)) {
      Value truth = arith::ConstantOp::create(l.b, l.loc, l.b.getBoolAttr(true));
      return {{arith::XOrIOp::create(l.b, l.loc, value, truth)}};
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
  table["_operator.add"] = lowerNumber<arith::AddIOp, arith::AddFOp>;
  table["_operator.sub"] = lowerNumber<arith::SubIOp, arith::SubFOp>;
  table["_operator.mul"] = lowerNumber<arith::MulIOp, arith::MulFOp>;
  table["_operator.floordiv"] = lowerInteger<arith::FloorDivSIOp>;
  table["_operator.mod"] = lowerModulo;
  table["_operator.neg"] = lowerNegation;
  table["torch.sym_min"] = lowerInteger<arith::MinSIOp>;
  table["torch.sym_max"] = lowerInteger<arith::MaxSIOp>;
  using I = arith::CmpIPredicate;
  using F = arith::CmpFPredicate;
  table["_operator.eq"] = lowerComparison<I::eq, F::OEQ>;
  table["_operator.ne"] = lowerComparison<I::ne, F::UNE>;
  table["_operator.lt"] = lowerComparison<I::slt, F::OLT>;
  table["_operator.le"] = lowerComparison<I::sle, F::OLE>;
  table["_operator.gt"] = lowerComparison<I::sgt, F::OGT>;
  table["_operator.ge"] = lowerComparison<I::sge, F::OGE>;
  table["_operator.and_"] = lowerLogic<arith::AndIOp>;
  table["_operator.or_"] = lowerLogic<arith::OrIOp>;
  table["torch.sym_not"] = lowerNot;
  for (StringRef name : {"aten.item", "aten._local_scalar_dense"})
    table[name] = lowerItem;
  for (StringRef name :
       {"aten._assert_tensor_metadata", "aten.sym_constrain_range", "aten.sym_constrain_range_for_size"})
    table[name] = lowerNothing;
}
