//===- Unary.cpp - functions of one element -----------------------------------------------------------------------===//

#include "Elementwise.h"

using namespace mlir;
using namespace mlir::aten;

Values mlir::aten::lowerFunction(Lowering &l, llvm::function_ref<Value(const Scalar &, Value)> compute) {
  Value self = l.getTensor("self");
  if (!self)
    return std::nullopt;
  RankedTensorType type = l.getType();
  Type own = getElementTypeOrSelf(self);
  Type in = type.getElementType().isInteger(1) ? getComputeType(own) : getComputeType(type.getElementType());
  return {{l.map(type, l.getSizes(self), self, [&](OpBuilder &b, Location loc, ValueRange args) {
    Scalar scalar{b, loc};
    Value result = compute(scalar, convertScalar(b, loc, args[0], in));
    return convertScalar(b, loc, result, type.getElementType());
  })}};
}

template <typename Op> static Value unaryMath(const Scalar &s, Value x) { return s.make<Op>(x); }

/// A function of floats.
template <typename Op> static Values lowerMath(Lowering &l) {
  return isa<FloatType>(l.getType().getElementType()) ? lowerUnary<unaryMath<Op>>(l) : std::nullopt;
}

/// Rounding to whole numbers, which integers are already.
template <typename Op> static Values lowerRounding(Lowering &l) {
  if (l.call.getArgument("decimals"))
    return std::nullopt;
  return isa<FloatType>(l.getType().getElementType()) ? lowerUnary<unaryMath<Op>>(l) : lowerCast(l);
}

static Value rsqrt(const Scalar &s, Value x) {
  return s.make<arith::DivFOp>({s.constant(x.getType(), 1), s.make<math::SqrtOp>(x)});
}

static Value reciprocal(const Scalar &s, Value x) { return s.make<arith::DivFOp>({s.constant(x.getType(), 1), x}); }

static Value negate(const Scalar &s, Value x) {
  return isa<FloatType>(x.getType()) ? s.make<arith::NegFOp>(x)
                                     : s.make<arith::SubIOp>({s.constant(x.getType(), 0), x});
}

static Value absolute(const Scalar &s, Value x) {
  return isa<FloatType>(x.getType()) ? s.make<math::AbsFOp>(x) : s.make<math::AbsIOp>(x);
}

/// Of NaN it is 0, as in PyTorch.
static Value sign(const Scalar &s, Value x) {
  Value zero = s.constant(x.getType(), 0);
  auto is = [&](arith::CmpFPredicate floats, arith::CmpIPredicate integers) {
    return convertScalar(s.b, s.loc, s.compare(floats, integers, x, zero), x.getType());
  };
  Value above = is(arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt);
  return s.either<arith::SubFOp, arith::SubIOp>({above, is(arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt)});
}

static Value square(const Scalar &s, Value x) { return s.either<arith::MulFOp, arith::MulIOp>({x, x}); }

static Value isNan(const Scalar &s, Value x) {
  return s.compare(arith::CmpFPredicate::UNO, arith::CmpIPredicate::ne, x, x);
}

static Value logicalNot(const Scalar &s, Value x) {
  Value truth = convertScalar(s.b, s.loc, x, s.b.getI1Type());
  return s.make<arith::XOrIOp>({truth, s.constant(s.b.getI1Type(), 1)});
}

static Value bitwiseNot(const Scalar &s, Value x) { return s.make<arith::XOrIOp>({x, s.constant(x.getType(), -1)}); }

void mlir::aten::addUnary(LoweringTable &table) {
  table["aten.exp"] = lowerMath<math::ExpOp>;
  table["aten.log"] = lowerMath<math::LogOp>;
  table["aten.log1p"] = lowerMath<math::Log1pOp>;
  table["aten.sqrt"] = lowerMath<math::SqrtOp>;
  table["aten.sin"] = lowerMath<math::SinOp>;
  table["aten.cos"] = lowerMath<math::CosOp>;
  table["aten.tanh"] = lowerMath<math::TanhOp>;
  table["aten.erf"] = lowerMath<math::ErfOp>;
  table["aten.floor"] = lowerRounding<math::FloorOp>;
  table["aten.ceil"] = lowerRounding<math::CeilOp>;
  table["aten.round"] = lowerRounding<math::RoundEvenOp>;
  table["aten.trunc"] = lowerRounding<math::TruncOp>;
  table["aten.rsqrt"] = lowerUnary<rsqrt>;
  table["aten.reciprocal"] = lowerUnary<reciprocal>;
  table["aten.neg"] = lowerUnary<negate>;
  table["aten.abs"] = lowerUnary<absolute>;
  table["aten.sign"] = lowerUnary<sign>;
  table["aten.square"] = lowerUnary<square>;
  table["aten.isnan"] = lowerUnary<isNan>;
  table["aten.logical_not"] = lowerUnary<logicalNot>;
  table["aten.bitwise_not"] = lowerUnary<bitwiseNot>;
}
