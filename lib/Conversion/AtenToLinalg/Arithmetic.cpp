//===- Arithmetic.cpp - arithmetic on two elements ----------------------------------------------------------------===//

#include "Elementwise.h"

using namespace mlir;
using namespace mlir::aten;

/// Two operands, of which the one numbered `scaled` is multiplied by the argument `alpha`, if there is one. PyTorch
/// rounds the operands to the type of the result first; where `keepsSecond`, not a second one without dimensions.
template <Value (*compute)(const Scalar &, Value, Value), unsigned scaled = 1, bool keepsSecond = false>
static Values lowerArithmetic(Lowering &l) {
  Value self = getOperand(l, "self"), other = getOperand(l, "other");
  if (!self || !other)
    return std::nullopt;
  Type element = l.getType().getElementType(), in = getComputeType(element);
  auto isRounded = [&](Value operand) {
    auto tensor = dyn_cast<RankedTensorType>(operand.getType());
    bool isKept = keepsSecond && operand == other && !(tensor && tensor.getRank());
    return !isKept && getElementTypeOrSelf(operand) != element;
  };
  const bool rounded[] = {isRounded(self), isRounded(other)};
  Value alpha = l.getScalar("alpha");
  return lowerTogether(l, {self, other}, {in, in}, [&](OpBuilder &b, Location loc, ValueRange args) {
    Scalar s{b, loc};
    Value values[] = {args[0], args[1]};
    for (auto [value, round] : llvm::zip_equal(values, rounded))
      if (round)
        value = convertScalar(b, loc, convertScalar(b, loc, value, element), in);
    if (alpha)
      values[scaled] = s.either<arith::MulFOp, arith::MulIOp>({values[scaled], convertScalar(b, loc, alpha, in)});
    return compute(s, values[0], values[1]);
  });
}

/// Of floats: what C's remainder is, and whether it has another sign than the divisor.
static std::pair<Value, Value> remainderOf(const Scalar &s, Value x, Value y) {
  using P = arith::CmpFPredicate;
  Value rest = s.make<arith::RemFOp>({x, y}), zero = s.constant(x.getType(), 0);
  auto is = [&](P predicate, Value value) -> Value {
    return arith::CmpFOp::create(s.b, s.loc, predicate, value, zero);
  };
  Value differs = s.make<arith::XOrIOp>({is(P::OLT, y), is(P::OLT, rest)});
  return {rest, s.make<arith::AndIOp>({is(P::UNE, rest), differs})};
}

/// The whole number below the quotient. As PyTorch and Python do, it is made of the remainder, which is exact: the quotient
/// may have been rounded up to a whole number, and a small one of an infinite divisor to zero.
static Value floorDivide(const Scalar &s, Value x, Value y) {
  Type type = x.getType();
  if (!isa<FloatType>(type))
    return s.make<arith::FloorDivSIOp>({x, y});
  using P = arith::CmpFPredicate;
  auto is = [&](P predicate, Value value, double number) -> Value {
    return arith::CmpFOp::create(s.b, s.loc, predicate, value, s.constant(type, number));
  };
  auto choose = [&](Value condition, Value first, Value second) -> Value {
    return arith::SelectOp::create(s.b, s.loc, condition, first, second);
  };
  auto [rest, turned] = remainderOf(s, x, y);
  Value one = s.constant(type, 1), quotient = s.make<arith::DivFOp>({x, y});
  Value whole = s.make<arith::DivFOp>({s.make<arith::SubFOp>({x, rest}), y});
  whole = choose(turned, s.make<arith::SubFOp>({whole, one}), whole);
  // It is a whole number but for the error of the division.
  Value floor = s.make<math::FloorOp>(whole);
  Value isAbove = is(P::OGT, s.make<arith::SubFOp>({whole, floor}), 0.5);
  floor = choose(isAbove, s.make<arith::AddFOp>({floor, one}), floor);
  // A zero has the sign of the quotient.
  floor = choose(is(P::OEQ, whole, 0), s.make<arith::MulFOp>({quotient, s.constant(type, 0)}), floor);
  return choose(is(P::OEQ, y, 0), quotient, floor);
}

static Value divide(const Scalar &s, Value x, Value y) { return s.make<arith::DivFOp>({x, y}); }

static Value truncateDivide(const Scalar &s, Value x, Value y) {
  if (!isa<FloatType>(x.getType()))
    return s.make<arith::DivSIOp>({x, y});
  return s.make<math::TruncOp>(s.make<arith::DivFOp>({x, y}));
}

/// div with rounding_mode None (true division), "trunc" or "floor".
static Values lowerDiv(Lowering &l) {
  std::optional<StringRef> mode = l.call.getString("rounding_mode");
  if (!mode)
    return lowerArithmetic<divide, 1, /*keepsSecond=*/true>(l);
  if (*mode == "floor")
    return lowerArithmetic<floorDivide, 1, /*keepsSecond=*/true>(l);
  return *mode == "trunc" ? lowerArithmetic<truncateDivide, 1, /*keepsSecond=*/true>(l) : std::nullopt;
}

/// Python's remainder: the sign of the divisor.
static Value remainder(const Scalar &s, Value x, Value y) {
  if (isa<FloatType>(x.getType())) {
    auto [rest, turned] = remainderOf(s, x, y);
    return arith::SelectOp::create(s.b, s.loc, turned, s.make<arith::AddFOp>({rest, y}), rest);
  }
  return s.make<arith::SubIOp>({x, s.make<arith::MulIOp>({floorDivide(s, x, y), y})});
}

/// remainder and fmod, for which PyTorch rounds a number to the elements' type first: a remainder shows it.
template <Value (*compute)(const Scalar &, Value, Value)> static Values lowerRemainder(Lowering &l) {
  Value self = getOperand(l, "self"), other = getOperand(l, "other");
  if (!self || !other)
    return std::nullopt;
  Type element = l.getType().getElementType(), in = getComputeType(element);
  for (Value *operand : {&self, &other})
    if (!isa<RankedTensorType>(operand->getType()))
      *operand = convertScalar(l.b, l.loc, *operand, element);
  return lowerTogether(l, {self, other}, {in, in}, [](OpBuilder &b, Location loc, ValueRange args) {
    return compute(Scalar{b, loc}, args[0], args[1]);
  });
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

template <typename FloatOp, typename IntOp> static Value binary(const Scalar &s, Value x, Value y) {
  return s.either<FloatOp, IntOp>({x, y});
}

// Truth values are numbers 0 and 1 without a sign, and 1 + 1 is still true: their sum and maximum is `or`, their product
// and minimum `and`.
static Value addTwo(const Scalar &s, Value x, Value y) { return add(s.b, s.loc, {y, x}); }
static Value maximumOfTwo(const Scalar &s, Value x, Value y) { return maximum(s.b, s.loc, {y, x}); }

static Value minimumOfTwo(const Scalar &s, Value x, Value y) {
  if (x.getType().isInteger(1))
    return s.make<arith::AndIOp>({x, y});
  return s.either<arith::MinimumFOp, arith::MinSIOp>({x, y});
}

Values mlir::aten::lowerMaximumOfTwo(Lowering &l) { return lowerArithmetic<maximumOfTwo>(l); }

static Value subtractFrom(const Scalar &s, Value x, Value y) {
  return s.either<arith::SubFOp, arith::SubIOp>({y, x});
}

static Value multiply(const Scalar &s, Value x, Value y) {
  if (x.getType().isInteger(1))
    return s.make<arith::AndIOp>({x, y});
  return s.either<arith::MulFOp, arith::MulIOp>({x, y});
}

void mlir::aten::addArithmetic(LoweringTable &table) {
  table["aten.add"] = lowerArithmetic<addTwo>;
  table["aten.sub"] = lowerArithmetic<binary<arith::SubFOp, arith::SubIOp>>;
  table["aten.rsub"] = lowerArithmetic<subtractFrom, 0>;
  table["aten.mul"] = lowerArithmetic<multiply, 1, /*keepsSecond=*/true>;
  table["aten.maximum"] = lowerMaximumOfTwo;
  table["aten.minimum"] = lowerArithmetic<minimumOfTwo>;
  table["aten.remainder"] = lowerRemainder<remainder>;
  table["aten.fmod"] = lowerRemainder<binary<arith::RemFOp, arith::RemSIOp>>;
  table["aten.floor_divide"] = lowerArithmetic<floorDivide, 1, /*keepsSecond=*/true>;
  table["aten.div"] = lowerDiv;
  table["aten.pow"] = lowerPow;
}
