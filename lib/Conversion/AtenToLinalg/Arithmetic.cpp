//===- Arithmetic.cpp - arithmetic on two elements ----------------------------------------------------------------===//

#include "Elementwise.h"

using namespace mlir;
using namespace mlir::aten;

/// Two operands, of which the one numbered `scaled` is multiplied by the argument `alpha`, if there is one.
template <Value (*compute)(const Scalar &, Value, Value), unsigned scaled = 1>
static Values lowerArithmetic(Lowering &l) {
  Value self = getOperand(l, "self"), other = getOperand(l, "other");
  if (!self || !other)
    return std::nullopt;
  Type in = getComputeType(l.getType().getElementType());
  Value alpha = l.getScalar("alpha");
  return lowerTogether(l, {self, other}, {in, in}, [&](OpBuilder &b, Location loc, ValueRange args) {
    Scalar s{b, loc};
    Value values[] = {args[0], args[1]};
    if (alpha)
      values[scaled] = s.either<arith::MulFOp, arith::MulIOp>({values[scaled], convertScalar(b, loc, alpha, in)});
    return compute(s, values[0], values[1]);
  });
}

static Value floorDivide(const Scalar &s, Value x, Value y) {
  if (!isa<FloatType>(x.getType()))
    return s.make<arith::FloorDivSIOp>({x, y});
  return s.make<math::FloorOp>(s.make<arith::DivFOp>({x, y}));
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
    return lowerArithmetic<divide>(l);
  if (*mode == "floor")
    return lowerArithmetic<floorDivide>(l);
  return *mode == "trunc" ? lowerArithmetic<truncateDivide>(l) : std::nullopt;
}

/// Python's remainder: the sign of the divisor.
static Value remainder(const Scalar &s, Value x, Value y) {
  Value whole = s.either<arith::MulFOp, arith::MulIOp>({floorDivide(s, x, y), y});
  return s.either<arith::SubFOp, arith::SubIOp>({x, whole});
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
  table["aten.mul"] = lowerArithmetic<multiply>;
  table["aten.maximum"] = lowerMaximumOfTwo;
  table["aten.minimum"] = lowerArithmetic<minimumOfTwo>;
  table["aten.remainder"] = lowerArithmetic<remainder>;
  table["aten.fmod"] = lowerArithmetic<binary<arith::RemFOp, arith::RemSIOp>>;
  table["aten.floor_divide"] = lowerArithmetic<floorDivide>;
  table["aten.div"] = lowerDiv;
  table["aten.pow"] = lowerPow;
}
