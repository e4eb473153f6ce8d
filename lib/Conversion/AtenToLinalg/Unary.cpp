//===- Unary.cpp - functions of one element -----------------------------------------------------------------------===//

#include "Elementwise.h"

#include <cmath>

using namespace mlir;
using namespace mlir::aten;

/// One operand: tensor argument `self`, computed in the compute type of the result (of the operand for predicates).
template <Value (*compute)(const Scalar &, Value)> static Values lowerUnary(Lowering &l) {
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

static Value sigmoid(const Scalar &s, Value x) {
  Value one = s.constant(x.getType(), 1), e = s.make<math::ExpOp>(s.make<arith::NegFOp>(x));
  return s.make<arith::DivFOp>({one, s.make<arith::AddFOp>({one, e})});
}

static Values lowerGelu(Lowering &l) {
  StringRef approximation = l.call.getString("approximate").value_or("none");
  if (approximation != "none" && approximation != "tanh")
    return std::nullopt;
  if (approximation == "tanh")
    return lowerUnary<[](const Scalar &s, Value x) -> Value {
      Type t = x.getType();
      Value cube = s.make<arith::MulFOp>({s.make<arith::MulFOp>({x, x}), x});
      Value inner = s.make<arith::AddFOp>({x, s.make<arith::MulFOp>({s.constant(t, 0.044715), cube})});
      Value bend = s.make<math::TanhOp>(s.make<arith::MulFOp>({s.constant(t, std::sqrt(2 / M_PI)), inner}));
      Value half = s.make<arith::MulFOp>({s.constant(t, 0.5), x});
      return s.make<arith::MulFOp>({half, s.make<arith::AddFOp>({s.constant(t, 1), bend})});
    }>(l);
  return lowerUnary<[](const Scalar &s, Value x) -> Value {
    Type t = x.getType();
    Value bend = s.make<math::ErfOp>(s.make<arith::MulFOp>({x, s.constant(t, M_SQRT1_2)}));
    Value half = s.make<arith::MulFOp>({s.constant(t, 0.5), x});
    return s.make<arith::MulFOp>({half, s.make<arith::AddFOp>({s.constant(t, 1), bend})});
  }>(l);
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

/// As PyTorch with beta 1 and threshold 20: the identity where the exponential would swallow the 1.
static Values lowerSoftplus(Lowering &l) {
  if (l.call.getArgument("beta") && l.call.getFloat("beta") != 1.0)
    return std::nullopt;
  if (l.call.getArgument("threshold") && l.call.getFloat("threshold") != 20.0)
    return std::nullopt;
  return lowerUnary<[](const Scalar &s, Value x) -> Value {
    Value soft = s.make<math::Log1pOp>(s.make<math::ExpOp>(x));
    Value large = s.compare(arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt, x, s.constant(x.getType(), 20));
    return arith::SelectOp::create(s.b, s.loc, large, x, soft);
  }>(l);
}

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
  table["aten.rsqrt"] = lowerUnary<[](const Scalar &s, Value x) -> Value {
    return s.make<arith::DivFOp>({s.constant(x.getType(), 1), s.make<math::SqrtOp>(x)});
  }>;
  table["aten.reciprocal"] = lowerUnary<[](const Scalar &s, Value x) -> Value {
    return s.make<arith::DivFOp>({s.constant(x.getType(), 1), x});
  }>;
  table["aten.neg"] = lowerUnary<[](const Scalar &s, Value x) -> Value {
    return isa<FloatType>(x.getType()) ? s.make<arith::NegFOp>(x)
                                       : s.make<arith::SubIOp>({s.constant(x.getType(), 0), x});
  }>;
  table["aten.abs"] = lowerUnary<[](const Scalar &s, Value x) -> Value {
    return isa<FloatType>(x.getType()) ? s.make<math::AbsFOp>(x) : s.make<math::AbsIOp>(x);
  }>;
  table["aten.square"] =
      lowerUnary<[](const Scalar &s, Value x) -> Value { return s.either<arith::MulFOp, arith::MulIOp>({x, x}); }>;
  table["aten.relu"] = lowerUnary<[](const Scalar &s, Value x) -> Value {
    return s.either<arith::MaximumFOp, arith::MaxSIOp>({x, s.constant(x.getType(), 0)});
  }>;
  table["aten.sigmoid"] = lowerUnary<sigmoid>;
  table["aten.silu"] =
      lowerUnary<[](const Scalar &s, Value x) -> Value { return s.make<arith::MulFOp>({x, sigmoid(s, x)}); }>;
  table["aten.softplus"] = lowerSoftplus;
  // min(x, 0) - log1p(exp(-|x|)): exp never overflows.
  table["aten.log_sigmoid"] = lowerUnary<[](const Scalar &s, Value x) -> Value {
    Value power = s.make<math::ExpOp>(s.make<arith::NegFOp>(s.make<math::AbsFOp>(x)));
    Value least = s.make<arith::MinimumFOp>({x, s.constant(x.getType(), 0)});
    return s.make<arith::SubFOp>({least, s.make<math::Log1pOp>(power)});
  }>;
  table["aten.isnan"] = lowerUnary<[](const Scalar &s, Value x) -> Value {
    return s.compare(arith::CmpFPredicate::UNO, arith::CmpIPredicate::ne, x, x);
  }>;
  table["aten.logical_not"] = lowerUnary<[](const Scalar &s, Value x) -> Value {
    Value truth = convertScalar(s.b, s.loc, x, s.b.getI1Type());
    return s.make<arith::XOrIOp>({truth, s.constant(s.b.getI1Type(), 1)});
  }>;
  table["aten.bitwise_not"] = lowerUnary<[](const Scalar &s, Value x) -> Value {
    return s.make<arith::XOrIOp>({x, s.constant(x.getType(), -1)});
  }>;
  table["aten.gelu"] = lowerGelu;
}
