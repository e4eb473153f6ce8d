//===- Activations.cpp - activation functions of one element ------------------------------------------------------===//

#include "Elementwise.h"

#include <cmath>

using namespace mlir;
using namespace mlir::aten;

static Value sigmoid(const Scalar &s, Value x) {
  Value one = s.constant(x.getType(), 1), e = s.make<math::ExpOp>(s.make<arith::NegFOp>(x));
  return s.make<arith::DivFOp>({one, s.make<arith::AddFOp>({one, e})});
}

static Value atMost(const Scalar &s, Value x, double bound) {
  return s.either<arith::MinimumFOp, arith::MinSIOp>({x, s.constant(x.getType(), bound)});
}

static Value atLeast(const Scalar &s, Value x, double bound) {
  return s.either<arith::MaximumFOp, arith::MaxSIOp>({x, s.constant(x.getType(), bound)});
}

/// One of two values by whether x is positive; sums of the parts would make NaN of 0 * inf where a number is infinite.
static Value choosePositive(const Scalar &s, Value x, bool orZero, Value positive, Value other) {
  Value zero = s.constant(x.getType(), 0);
  Value is = orZero ? s.compare(arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge, x, zero)
                    : s.compare(arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt, x, zero);
  return arith::SelectOp::create(s.b, s.loc, is, positive, other);
}

/// log(1 + exp(x)), and x where the exponential would swallow the 1.
static Value softplus(const Scalar &s, Value x) {
  Value soft = s.make<math::Log1pOp>(s.make<math::ExpOp>(x));
  Value large = s.compare(arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt, x, s.constant(x.getType(), 20));
  return arith::SelectOp::create(s.b, s.loc, large, x, soft);
}

static Value geluOfTanh(const Scalar &s, Value x) {
  Type t = x.getType();
  Value cube = s.make<arith::MulFOp>({s.make<arith::MulFOp>({x, x}), x});
  Value inner = s.make<arith::AddFOp>({x, s.make<arith::MulFOp>({s.constant(t, 0.044715), cube})});
  Value bend = s.make<math::TanhOp>(s.make<arith::MulFOp>({s.constant(t, std::sqrt(2 / M_PI)), inner}));
  Value half = s.make<arith::MulFOp>({s.constant(t, 0.5), x});
  return s.make<arith::MulFOp>({half, s.make<arith::AddFOp>({s.constant(t, 1), bend})});
}

static Value geluOfErf(const Scalar &s, Value x) {
  Type t = x.getType();
  Value bend = s.make<math::ErfOp>(s.make<arith::MulFOp>({x, s.constant(t, M_SQRT1_2)}));
  Value half = s.make<arith::MulFOp>({s.constant(t, 0.5), x});
  return s.make<arith::MulFOp>({half, s.make<arith::AddFOp>({s.constant(t, 1), bend})});
}

static Values lowerGelu(Lowering &l) {
  StringRef approximation = l.call.getString("approximate").value_or("none");
  if (approximation == "tanh")
    return lowerUnary<geluOfTanh>(l);
  return approximation == "none" ? lowerUnary<geluOfErf>(l) : std::nullopt;
}

/// With beta 1 and threshold 20.
static Values lowerSoftplus(Lowering &l) {
  if (l.call.getArgument("beta") && l.call.getFloat("beta") != 1.0)
    return std::nullopt;
  if (l.call.getArgument("threshold") && l.call.getFloat("threshold") != 20.0)
    return std::nullopt;
  return lowerUnary<softplus>(l);
}

/// The number that an argument is, or `missing`; nothing for a value.
static std::optional<double> getNumber(Lowering &l, StringRef name, double missing) {
  return l.call.getArgument(name) ? l.call.getFloat(name) : missing;
}

static Values lowerHardTanh(Lowering &l) {
  std::optional<double> least = getNumber(l, "min_val", -1), most = getNumber(l, "max_val", 1);
  if (!least || !most)
    return std::nullopt;
  return lowerFunction(l, [&](const Scalar &s, Value x) { return atMost(s, atLeast(s, x, *least), *most); });
}

static Values lowerLeakyRelu(Lowering &l) {
  std::optional<double> slope = getNumber(l, "negative_slope", 0.01);
  if (!slope)
    return std::nullopt;
  return lowerFunction(l, [&](const Scalar &s, Value x) -> Value {
    Value below = s.make<arith::MulFOp>({x, s.constant(x.getType(), *slope)});
    return choosePositive(s, x, /*orZero=*/false, x, below);
  });
}

/// scale * x, and scale * alpha * (exp(input_scale * x) - 1) below zero.
static Values lowerElu(Lowering &l) {
  std::optional<double> alpha = getNumber(l, "alpha", 1), scale = getNumber(l, "scale", 1),
                        inner = getNumber(l, "input_scale", 1);
  if (!alpha || !scale || !inner)
    return std::nullopt;
  return lowerFunction(l, [&](const Scalar &s, Value x) -> Value {
    Type type = x.getType();
    Value below = s.make<math::ExpM1Op>(s.make<arith::MulFOp>({atMost(s, x, 0), s.constant(type, *inner)}));
    below = s.make<arith::MulFOp>({below, s.constant(type, *alpha * *scale)});
    return choosePositive(s, x, /*orZero=*/true, s.make<arith::MulFOp>({x, s.constant(type, *scale)}), below);
  });
}

/// min(max(x + 3, 0), 6) / 6
static Value hardSigmoid(const Scalar &s, Value x) {
  Type type = x.getType();
  Value shifted = s.make<arith::AddFOp>({x, s.constant(type, 3)});
  return s.make<arith::DivFOp>({atMost(s, atLeast(s, shifted, 0), 6), s.constant(type, 6)});
}

static Value relu(const Scalar &s, Value x) { return atLeast(s, x, 0); }
static Value relu6(const Scalar &s, Value x) { return atMost(s, atLeast(s, x, 0), 6); }
static Value hardSwish(const Scalar &s, Value x) { return s.make<arith::MulFOp>({x, hardSigmoid(s, x)}); }
static Value silu(const Scalar &s, Value x) { return s.make<arith::MulFOp>({x, sigmoid(s, x)}); }
static Value mish(const Scalar &s, Value x) { return s.make<arith::MulFOp>({x, s.make<math::TanhOp>(softplus(s, x))}); }

/// min(x, 0) - log1p(exp(-|x|)): exp never overflows.
static Value logSigmoid(const Scalar &s, Value x) {
  Value power = s.make<math::ExpOp>(s.make<arith::NegFOp>(s.make<math::AbsFOp>(x)));
  Value least = s.make<arith::MinimumFOp>({x, s.constant(x.getType(), 0)});
  return s.make<arith::SubFOp>({least, s.make<math::Log1pOp>(power)});
}

void mlir::aten::addActivations(LoweringTable &table) {
  table["aten.relu"] = lowerUnary<relu>;
  table["aten.relu6"] = lowerUnary<relu6>;
  table["aten.hardtanh"] = lowerHardTanh;
  table["aten.leaky_relu"] = lowerLeakyRelu;
  table["aten.elu"] = lowerElu;
  table["aten.hardsigmoid"] = lowerUnary<hardSigmoid>;
  table["aten.hardswish"] = lowerUnary<hardSwish>;
  table["aten.sigmoid"] = lowerUnary<sigmoid>;
  table["aten.silu"] = lowerUnary<silu>;
  table["aten.softplus"] = lowerSoftplus;
  table["aten.log_sigmoid"] = lowerUnary<logSigmoid>;
  table["aten.mish"] = lowerUnary<mish>;
  table["aten.gelu"] = lowerGelu;
}
