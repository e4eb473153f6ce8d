//===- Elementwise.cpp - operators on single elements, with broadcasting ---------------------------------------===//

#include "Lowering.h"

#include <cmath>

using namespace mlir;
using namespace mlir::aten;

using Values = std::optional<SmallVector<Value>>;

namespace {
/// Builds one scalar operation on operands of the compute type.
struct Scalar {
  OpBuilder &b;
  Location loc;

  Value constant(Type type, double value) const {
    if (isa<FloatType>(type))
      return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
  }
  template <typename Op> Value make(ValueRange operands) const { return Op::create(b, loc, operands); }
  template <typename FloatOp, typename IntOp> Value either(ValueRange operands) const {
    return isa<FloatType>(operands[0].getType()) ? make<FloatOp>(operands) : make<IntOp>(operands);
  }
  Value compare(arith::CmpFPredicate floats, arith::CmpIPredicate integers, Value lhs, Value rhs) const {
    if (isa<FloatType>(lhs.getType()))
      return arith::CmpFOp::create(b, loc, floats, lhs, rhs);
    return arith::CmpIOp::create(b, loc, integers, lhs, rhs);
  }
  Value sigmoid(Value x) const {
    Value one = constant(x.getType(), 1), e = make<math::ExpOp>(make<arith::NegFOp>(x));
    return make<arith::DivFOp>({one, make<arith::AddFOp>({one, e})});
  }
};

} // namespace

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

/// A tensor or scalar argument, as an operand of the generic op or as a value that its body captures.
static Value getOperand(Lowering &l, StringRef name) {
  Value tensor = l.getTensor(name);
  return tensor ? tensor : l.getScalar(name);
}

/// Any number of operands under one body; scalars are captured.
static Values lowerTogether(Lowering &l, ArrayRef<Value> operands, ArrayRef<Type> computeTypes, Lowering::Body body) {
  RankedTensorType type = l.getType();
  SmallVector<Value> tensors;
  for (Value operand : operands)
    if (isa<RankedTensorType>(operand.getType()))
      tensors.push_back(operand);
  return {{l.map(type, l.getBroadcastSizes(type, tensors), tensors, [&](OpBuilder &b, Location loc, ValueRange args) {
    SmallVector<Value> scalars;
    size_t next = 0;
    for (auto [operand, in] : llvm::zip(operands, computeTypes)) {
      Value element = isa<RankedTensorType>(operand.getType()) ? args[next++] : operand;
      scalars.push_back(convertScalar(b, loc, element, in));
    }
    return convertScalar(b, loc, body(b, loc, scalars), type.getElementType());
  })}};
}

template <Value (*compute)(const Scalar &, Value, Value)> static Values lowerArithmetic(Lowering &l) {
  Value self = getOperand(l, "self"), other = getOperand(l, "other");
  if (!self || !other)
    return std::nullopt;
  Type in = getComputeType(l.getType().getElementType());
  Value alpha = l.getScalar("alpha");
  return lowerTogether(l, {self, other}, {in, in}, [&](OpBuilder &b, Location loc, ValueRange args) {
    Scalar scalar{b, loc};
    Value rhs = args[1];
    if (alpha)
      rhs = scalar.either<arith::MulFOp, arith::MulIOp>({rhs, convertScalar(b, loc, alpha, in)});
    return compute(scalar, args[0], rhs);
  });
}

/// rsub(self, other, alpha): other - alpha * self.
static Values lowerRsub(Lowering &l) {
  Value self = getOperand(l, "self"), other = getOperand(l, "other");
  if (!self || !other)
    return std::nullopt;
  Type in = getComputeType(l.getType().getElementType());
  Value alpha = l.getScalar("alpha");
  return lowerTogether(l, {self, other}, {in, in}, [&](OpBuilder &b, Location loc, ValueRange args) {
    Scalar s{b, loc};
    Value rhs = args[0];
    if (alpha)
      rhs = s.either<arith::MulFOp, arith::MulIOp>({rhs, convertScalar(b, loc, alpha, in)});
    return s.either<arith::SubFOp, arith::SubIOp>({args[1], rhs});
  });
}

/// Comparisons and logic: the operands meet in their own common type, not in that of the result. A Python number does
/// not widen a tensor of its own kind.
template <Value (*compute)(const Scalar &, Value, Value)> static Values lowerPredicate(Lowering &l) {
  Value self = getOperand(l, "self"), other = getOperand(l, "other");
  if (!self || !other)
    return std::nullopt;
  Type lhs = getElementTypeOrSelf(self), rhs = getElementTypeOrSelf(other);
  bool number = !isa<RankedTensorType>(other.getType());
  Type in = number && isa<FloatType>(lhs) ? getComputeType(lhs) : getCommonType(l.b, {lhs, rhs});
  return lowerTogether(l, {self, other}, {in, in}, [](OpBuilder &b, Location loc, ValueRange args) {
    return compute(Scalar{b, loc}, args[0], args[1]);
  });
}

template <arith::CmpFPredicate floats, arith::CmpIPredicate integers>
static Value compare(const Scalar &s, Value lhs, Value rhs) {
  // Booleans order as 0 < 1, so they compare unsigned.
  if (lhs.getType().isInteger(1)) {
    lhs = convertScalar(s.b, s.loc, lhs, s.b.getI64Type());
    rhs = convertScalar(s.b, s.loc, rhs, s.b.getI64Type());
  }
  return s.compare(floats, integers, lhs, rhs);
}

/// div with rounding_mode None (true division), "trunc" or "floor".
static Values lowerDiv(Lowering &l) {
  std::optional<StringRef> mode = l.call.getString("rounding_mode");
  if (!mode)
    return lowerArithmetic<[](const Scalar &s, Value x, Value y) -> Value { return s.make<arith::DivFOp>({x, y}); }>(l);
  if (*mode == "floor")
    return lowerArithmetic<[](const Scalar &s, Value x, Value y) -> Value {
      if (!isa<FloatType>(x.getType()))
        return s.make<arith::FloorDivSIOp>({x, y});
      return s.make<math::FloorOp>(s.make<arith::DivFOp>({x, y}));
    }>(l);
  if (*mode != "trunc")
    return std::nullopt;
  return lowerArithmetic<[](const Scalar &s, Value x, Value y) -> Value {
    if (!isa<FloatType>(x.getType()))
      return s.make<arith::DivSIOp>({x, y});
    return s.make<math::TruncOp>(s.make<arith::DivFOp>({x, y}));
  }>(l);
}

/// Python's remainder: the sign of the divisor.
static Value remainder(const Scalar &s, Value x, Value y) {
  if (isa<FloatType>(x.getType())) {
    Value quotient = s.make<math::FloorOp>(s.make<arith::DivFOp>({x, y}));
    return s.make<arith::SubFOp>({x, s.make<arith::MulFOp>({quotient, y})});
  }
  Value quotient = s.make<arith::FloorDivSIOp>({x, y});
  return s.make<arith::SubIOp>({x, s.make<arith::MulIOp>({quotient, y})});
}

static Values lowerPow(Lowering &l) {
  std::optional<double> exponent = l.call.getFloat("exponent");
  Value self = getOperand(l, "self");
  Value other = exponent ? Value() : getOperand(l, "exponent");
  Type in = getComputeType(l.getType().getElementType());
  if (!self || (!exponent && !other))
    return std::nullopt;
  // Squares and cubes multiply, as PyTorch's kernel does.
  if (exponent && (*exponent == 2 || *exponent == 3))
    return lowerTogether(l, {self}, {in}, [&](OpBuilder &b, Location loc, ValueRange args) {
      Scalar s{b, loc};
      Value square = s.either<arith::MulFOp, arith::MulIOp>({args[0], args[0]});
      return *exponent == 2 ? square : s.either<arith::MulFOp, arith::MulIOp>({square, args[0]});
    });
  if (!isa<FloatType>(in))
    return std::nullopt;
  if (exponent)
    return lowerTogether(l, {self}, {in}, [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
      Scalar s{b, loc};
      if (*exponent == 0.5)
        return s.make<math::SqrtOp>(args[0]);
      return s.make<math::PowFOp>({args[0], s.constant(in, *exponent)});
    });
  return lowerTogether(l, {self, other}, {in, in}, [](OpBuilder &b, Location loc, ValueRange args) -> Value {
    return Scalar{b, loc}.make<math::PowFOp>(args);
  });
}

static Values lowerWhere(Lowering &l) {
  Value condition = l.getTensor("condition"), self = getOperand(l, "self"), other = getOperand(l, "other");
  if (!condition || !self || !other)
    return std::nullopt;
  Type in = l.getType().getElementType();
  return lowerTogether(l, {condition, self, other}, {l.b.getI1Type(), in, in},
                       [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                         return arith::SelectOp::create(b, loc, args[0], args[1], args[2]);
                       });
}

static Values lowerMaskedFill(Lowering &l) {
  Value self = l.getTensor("self"), mask = l.getTensor("mask"), value = getOperand(l, "value");
  if (!self || !mask || !value)
    return std::nullopt;
  Type in = l.getType().getElementType();
  return lowerTogether(l, {mask, value, self}, {l.b.getI1Type(), in, in},
                       [](OpBuilder &b, Location loc, ValueRange args) -> Value {
                         return arith::SelectOp::create(b, loc, args[0], args[1], args[2]);
                       });
}

/// clamp, clamp_min, clamp_max. NaN stays NaN.
static Values lowerClamp(Lowering &l) {
  Value self = l.getTensor("self"), low = getOperand(l, "min"), high = getOperand(l, "max");
  if (!self || (!low && !high))
    return std::nullopt;
  Type in = getComputeType(l.getType().getElementType());
  SmallVector<Value> operands{self};
  if (low)
    operands.push_back(low);
  if (high)
    operands.push_back(high);
  SmallVector<Type> types(operands.size(), in);
  return lowerTogether(l, operands, types, [&](OpBuilder &b, Location loc, ValueRange args) {
    Scalar s{b, loc};
    Value result = args[0];
    if (low)
      result = s.either<arith::MaximumFOp, arith::MaxSIOp>({result, args[1]});
    if (high)
      result = s.either<arith::MinimumFOp, arith::MinSIOp>({result, args.back()});
    return result;
  });
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

/// Casts, and operators that return their operand: clone, contiguous, detach, dropout without training.
static Values lowerCast(Lowering &l) {
  Value self = l.getTensor("self");
  if (!self)
    self = l.getTensor("input");
  if (!self || l.call.getBool("train").value_or(false))
    return std::nullopt;
  return {{l.cast(self, l.getType().getElementType())}};
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

template <typename FloatOp, typename IntOp> static Value binary(const Scalar &s, Value x, Value y) {
  return s.either<FloatOp, IntOp>({x, y});
}
template <typename Op> static Value logic(const Scalar &s, Value x, Value y) {
  Type i1 = s.b.getI1Type();
  return s.make<Op>({convertScalar(s.b, s.loc, x, i1), convertScalar(s.b, s.loc, y, i1)});
}
template <typename Op> static Value bits(const Scalar &s, Value x, Value y) { return s.make<Op>({x, y}); }

Values mlir::aten::lowerMaximumOfTwo(Lowering &l) {
  return lowerArithmetic<binary<arith::MaximumFOp, arith::MaxSIOp>>(l);
}

static void addUnary(LoweringTable &table) {
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
  table["aten.sigmoid"] = lowerUnary<[](const Scalar &s, Value x) -> Value { return s.sigmoid(x); }>;
  table["aten.silu"] =
      lowerUnary<[](const Scalar &s, Value x) -> Value { return s.make<arith::MulFOp>({x, s.sigmoid(x)}); }>;
  table["aten.softplus"] = lowerSoftplus;
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

static void addBinary(LoweringTable &table) {
  table["aten.add"] = lowerArithmetic<binary<arith::AddFOp, arith::AddIOp>>;
  table["aten.sub"] = lowerArithmetic<binary<arith::SubFOp, arith::SubIOp>>;
  table["aten.rsub"] = lowerRsub;
  table["aten.mul"] = lowerArithmetic<[](const Scalar &s, Value x, Value y) -> Value {
    if (x.getType().isInteger(1))
      return s.make<arith::AndIOp>({x, y});
    return s.either<arith::MulFOp, arith::MulIOp>({x, y});
  }>;
  table["aten.maximum"] = lowerMaximumOfTwo;
  table["aten.minimum"] = lowerArithmetic<binary<arith::MinimumFOp, arith::MinSIOp>>;
  table["aten.remainder"] = lowerArithmetic<remainder>;
  table["aten.fmod"] = lowerArithmetic<binary<arith::RemFOp, arith::RemSIOp>>;
  table["aten.floor_divide"] = lowerArithmetic<[](const Scalar &s, Value x, Value y) -> Value {
    if (!isa<FloatType>(x.getType()))
      return s.make<arith::FloorDivSIOp>({x, y});
    return s.make<math::FloorOp>(s.make<arith::DivFOp>({x, y}));
  }>;
  table["aten.div"] = lowerDiv;
  table["aten.pow"] = lowerPow;
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  table["aten.eq"] = lowerPredicate<compare<F::OEQ, I::eq>>;
  table["aten.ne"] = lowerPredicate<compare<F::UNE, I::ne>>;
  table["aten.lt"] = lowerPredicate<compare<F::OLT, I::slt>>;
  table["aten.le"] = lowerPredicate<compare<F::OLE, I::sle>>;
  table["aten.gt"] = lowerPredicate<compare<F::OGT, I::sgt>>;
  table["aten.ge"] = lowerPredicate<compare<F::OGE, I::sge>>;
  table["aten.logical_and"] = lowerPredicate<logic<arith::AndIOp>>;
  table["aten.logical_or"] = lowerPredicate<logic<arith::OrIOp>>;
  table["aten.logical_xor"] = lowerPredicate<logic<arith::XOrIOp>>;
  for (StringRef name : {"aten.__and__", "aten.bitwise_and"})
    table[name] = lowerPredicate<bits<arith::AndIOp>>;
  for (StringRef name : {"aten.__or__", "aten.bitwise_or"})
    table[name] = lowerPredicate<bits<arith::OrIOp>>;
  for (StringRef name : {"aten.__xor__", "aten.bitwise_xor"})
    table[name] = lowerPredicate<bits<arith::XOrIOp>>;
}

void mlir::aten::addElementwise(LoweringTable &table) {
  addUnary(table);
  addBinary(table);
  table["aten.where"] = lowerWhere;
  table["aten.masked_fill"] = lowerMaskedFill;
  for (StringRef name : {"aten.clamp", "aten.clamp_min", "aten.clamp_max"})
    table[name] = lowerClamp;
  for (StringRef name : {"aten.to", "aten._to_copy", "aten.type_as", "aten.clone", "aten.contiguous", "aten.alias",
                         "aten.detach", "aten.lift_fresh_copy", "aten.lift_fresh", "aten.dropout", "aten.float"})
    table[name] = lowerCast;
}
