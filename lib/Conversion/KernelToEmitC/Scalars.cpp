//===- Scalars.cpp - arithmetic on scalars as C++ expressions -----------------------------------------------------===//

#include "Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kernel;
using mlir::cuda::DeviceFunction;

static bool isStorageOnly(Type type) { return type.isBF16() || type.isF16(); }

LogicalResult Emitter::emitConstant(Operation *op) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (!constant)
    return failure();
  Type type = convert(constant.getType());
  if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
    if (!isStorageOnly(constant.getType()))
      return set(op, emitc::ConstantOp::create(b, op->getLoc(), type, number));
    auto wide = FloatAttr::get(b.getF32Type(), number.getValueAsDouble());
    Value value = emitc::ConstantOp::create(b, op->getLoc(), b.getF32Type(), wide);
    return set(op, call(op, type, DeviceFunction::FromFloat, value, TypeAttr::get(type)));
  }
  // Literals are printed where they are used; a constant would be a variable.
  if (auto number = dyn_cast<IntegerAttr>(constant.getValue())) {
    if (type.isInteger(1))
      return set(op, emitc::LiteralOp::create(b, op->getLoc(), type, number.getValue().isZero() ? "false" : "true"));
    return set(op, integer(op->getLoc(), type, number.getValue().getSExtValue()));
  }
  return failure();
}

LogicalResult Emitter::emitArithmetic(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return failure();
  Type source = op->getResult(0).getType(), type = convert(source);
  if (!type)
    return failure();
  Location loc = op->getLoc();
  // C++ has no arithmetic on the 16-bit floats; the kernels widen them first.
  if (isStorageOnly(source) && !isa<arith::SelectOp, arith::TruncFOp>(op))
    return failure();
  auto operand = [&](unsigned i) { return get(op->getOperand(i)); };
  auto binary = [&](auto tag) {
    using Op = decltype(tag);
    return set(op, Op::create(b, loc, type, operand(0), operand(1)));
  };
  auto chosen = [&](emitc::CmpPredicate predicate) {
    Value first = emitc::CmpOp::create(b, loc, b.getI1Type(), predicate, operand(0), operand(1));
    return set(op, emitc::ConditionalOp::create(b, loc, type, first, operand(0), operand(1)));
  };
  auto shifted = [&](auto tag) {
    using Op = decltype(tag);
    Type bits = IntegerType::get(b.getContext(), type.getIntOrFloatBitWidth(), IntegerType::Unsigned);
    Value value = emitc::CastOp::create(b, loc, bits, operand(0));
    return set(op, emitc::CastOp::create(b, loc, type, Op::create(b, loc, bits, value, operand(1)).getResult()));
  };
  auto unsignedly = [&](auto tag) {
    using Op = decltype(tag);
    Type bits = IntegerType::get(b.getContext(), type.getIntOrFloatBitWidth(), IntegerType::Unsigned);
    Value x = emitc::CastOp::create(b, loc, bits, operand(0)), y = emitc::CastOp::create(b, loc, bits, operand(1));
    return set(op, emitc::CastOp::create(b, loc, type, Op::create(b, loc, bits, x, y).getResult()));
  };
  auto called = [&](DeviceFunction callee) { return set(op, call(op, type, callee, {operand(0), operand(1)})); };
  bool isBool = source.isInteger(1);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<arith::AddFOp, arith::AddIOp>([&](auto) { return binary(emitc::AddOp()); })
      .Case<arith::SubFOp, arith::SubIOp>([&](auto) { return binary(emitc::SubOp()); })
      .Case<arith::MulFOp, arith::MulIOp>([&](auto) { return binary(emitc::MulOp()); })
      .Case<arith::DivFOp>([&](arith::DivFOp div) {
        // Approximate, and by the reciprocal.
        constexpr auto both = arith::FastMathFlags::afn | arith::FastMathFlags::arcp;
        if (!arith::bitEnumContainsAll(div.getFastmath(), both))
          return binary(emitc::DivOp());
        return called(DeviceFunction::ApproximateQuotient);
      })
      .Case<arith::RemFOp>([&](auto) { return type.isF32() ? called(DeviceFunction::Fmod) : failure(); })
      .Case<arith::DivSIOp>([&](auto) { return binary(emitc::DivOp()); })
      .Case<arith::RemSIOp>([&](auto) { return binary(emitc::RemOp()); })
      .Case<arith::AndIOp>([&](auto) { return isBool ? binary(emitc::LogicalAndOp()) : binary(emitc::BitwiseAndOp()); })
      .Case<arith::OrIOp>([&](auto) { return isBool ? binary(emitc::LogicalOrOp()) : binary(emitc::BitwiseOrOp()); })
      .Case<arith::XOrIOp>([&](auto) {
        if (!isBool)
          return binary(emitc::BitwiseXorOp());
        return set(op, emitc::CmpOp::create(b, loc, type, emitc::CmpPredicate::ne, operand(0), operand(1)));
      })
      // Of a negative number it is undefined in C++17.
      .Case<arith::ShLIOp>([&](auto) { return shifted(emitc::BitwiseLeftShiftOp()); })
      .Case<arith::ShRSIOp>([&](auto) { return binary(emitc::BitwiseRightShiftOp()); }) // keeps the sign in all compilers
      .Case<arith::ShRUIOp>([&](auto) { return shifted(emitc::BitwiseRightShiftOp()); })
      .Case<arith::MaxSIOp>([&](auto) { return chosen(emitc::CmpPredicate::gt); })
      .Case<arith::MinSIOp>([&](auto) { return chosen(emitc::CmpPredicate::lt); })
      // Sizes and indices are never negative, so unsigned division of them is the signed one.
      .Case<arith::DivUIOp, arith::RemUIOp>([&](auto) -> LogicalResult {
        const bool isQuotient = isa<arith::DivUIOp>(op);
        if (!source.isIndex())
          return isQuotient ? unsignedly(emitc::DivOp()) : unsignedly(emitc::RemOp());
        return isQuotient ? binary(emitc::DivOp()) : binary(emitc::RemOp());
      })
      .Case<arith::MaximumFOp>([&](auto) { return called(DeviceFunction::Maximum); })
      .Case<arith::MinimumFOp>([&](auto) { return called(DeviceFunction::Minimum); })
      .Case<arith::MaxNumFOp>([&](auto) { return called(DeviceFunction::MaximumNumber); })
      .Case<arith::MinNumFOp>([&](auto) { return called(DeviceFunction::MinimumNumber); })
      .Case<arith::NegFOp>([&](auto) { return set(op, emitc::UnaryMinusOp::create(b, loc, type, operand(0))); })
      .Case<arith::SelectOp>(
          [&](auto) { return set(op, emitc::ConditionalOp::create(b, loc, type, operand(0), operand(1), operand(2))); })
      .Default([](Operation *) { return failure(); });
}

LogicalResult Emitter::emitComparison(Operation *op) {
  using Predicate = emitc::CmpPredicate;
  Location loc = op->getLoc();
  Type boolean = b.getI1Type();
  auto compare = [&](Predicate predicate, Value x, Value y) -> Value {
    return emitc::CmpOp::create(b, loc, boolean, predicate, x, y);
  };
  auto inverse = [&](Value x) -> Value { return emitc::LogicalNotOp::create(b, loc, boolean, x); };
  if (auto cmp = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    P predicate = cmp.getPredicate();
    Value x = get(cmp.getLhs()), y = get(cmp.getRhs());
    if (predicate == P::ult || predicate == P::ule || predicate == P::ugt || predicate == P::uge) {
      Type type = IntegerType::get(b.getContext(), x.getType().getIntOrFloatBitWidth(), IntegerType::Unsigned);
      x = emitc::CastOp::create(b, loc, type, x);
      y = emitc::CastOp::create(b, loc, type, y);
    }
    switch (predicate) {
    case P::eq:
      return set(op, compare(Predicate::eq, x, y));
    case P::ne:
      return set(op, compare(Predicate::ne, x, y));
    case P::slt:
    case P::ult:
      return set(op, compare(Predicate::lt, x, y));
    case P::sle:
    case P::ule:
      return set(op, compare(Predicate::le, x, y));
    case P::sgt:
    case P::ugt:
      return set(op, compare(Predicate::gt, x, y));
    case P::sge:
    case P::uge:
      return set(op, compare(Predicate::ge, x, y));
    }
  }
  auto cmp = dyn_cast<arith::CmpFOp>(op);
  if (!cmp)
    return failure();
  using P = arith::CmpFPredicate;
  Value x = get(cmp.getLhs()), y = get(cmp.getRhs());
  // C++ comparisons are false for NaN, except `!=`; the unordered ones are the inverse of their opposites.
  switch (cmp.getPredicate()) {
  case P::OEQ:
    return set(op, compare(Predicate::eq, x, y));
  case P::UNE:
    return set(op, compare(Predicate::ne, x, y));
  case P::OLT:
    return set(op, compare(Predicate::lt, x, y));
  case P::OLE:
    return set(op, compare(Predicate::le, x, y));
  case P::OGT:
    return set(op, compare(Predicate::gt, x, y));
  case P::OGE:
    return set(op, compare(Predicate::ge, x, y));
  case P::ULT:
    return set(op, inverse(compare(Predicate::ge, x, y)));
  case P::ULE:
    return set(op, inverse(compare(Predicate::gt, x, y)));
  case P::UGT:
    return set(op, inverse(compare(Predicate::le, x, y)));
  case P::UGE:
    return set(op, inverse(compare(Predicate::lt, x, y)));
  case P::UNO:
  case P::ORD: {
    Value xNan = compare(Predicate::ne, x, x), yNan = compare(Predicate::ne, y, y);
    Value either = x == y ? xNan : emitc::LogicalOrOp::create(b, loc, boolean, xNan, yNan).getResult();
    return set(op, cmp.getPredicate() == P::UNO ? either : inverse(either));
  }
  default:
    return failure();
  }
}

LogicalResult Emitter::emitCast(Operation *op) {
  if (isa<arith::BitcastOp>(op)) {
    if (!op->getOperand(0).getType().isF32() || !op->getResult(0).getType().isInteger(32))
      return failure();
    return set(op, call(op, b.getI32Type(), DeviceFunction::BitsOf, get(op->getOperand(0))));
  }
  if (!isa<arith::ExtFOp, arith::TruncFOp, arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp, arith::SIToFPOp,
           arith::FPToSIOp, arith::ExtUIOp, arith::IndexCastUIOp, arith::UIToFPOp>(op))
    return failure();
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType(), type = convert(to);
  Value value = get(op->getOperand(0));
  if (isStorageOnly(from))
    return to.isF32() ? set(op, call(op, type, DeviceFunction::ToFloat, value)) : failure();
  if (isStorageOnly(to))
    return from.isF32() ? set(op, call(op, type, DeviceFunction::FromFloat, value, TypeAttr::get(type))) : failure();
  if (value.getType() == type) // index and i64
    return set(op, value);
  bool isUnsigned = isa<arith::ExtUIOp, arith::IndexCastUIOp, arith::UIToFPOp>(op);
  if (isUnsigned && !from.isInteger(1)) {
    Type middle = IntegerType::get(b.getContext(), value.getType().getIntOrFloatBitWidth(), IntegerType::Unsigned);
    value = emitc::CastOp::create(b, op->getLoc(), middle, value);
  }
  // In C++ `true` is 1; as a signed number of one bit it is -1.
  if (from.isInteger(1) && !isUnsigned)
    return failure();
  return set(op, emitc::CastOp::create(b, op->getLoc(), type, value));
}

LogicalResult Emitter::emitMath(Operation *op) {
  if (!op->getDialect() || op->getDialect()->getNamespace() != "math" || !op->getResult(0).getType().isF32())
    return failure();
  using Callee = std::optional<DeviceFunction>;
  auto callee = llvm::TypeSwitch<Operation *, Callee>(op)
                    .Case([](math::AbsFOp) { return DeviceFunction::Abs; })
                    .Case([](math::CeilOp) { return DeviceFunction::Ceil; })
                    .Case([](math::CosOp) { return DeviceFunction::Cos; })
                    .Case([](math::ErfOp) { return DeviceFunction::Erf; })
                    .Case([](math::ExpOp exp) {
                      return arith::bitEnumContainsAny(exp.getFastmath(), arith::FastMathFlags::afn)
                                 ? DeviceFunction::ApproximateExp
                                 : DeviceFunction::Exp;
                    })
                    .Case([](math::ExpM1Op) { return DeviceFunction::Expm1; })
                    .Case([](math::FloorOp) { return DeviceFunction::Floor; })
                    .Case([](math::FmaOp) { return DeviceFunction::Fma; })
                    .Case([](math::LogOp) { return DeviceFunction::Log; })
                    .Case([](math::Log1pOp) { return DeviceFunction::Log1p; })
                    .Case([](math::PowFOp) { return DeviceFunction::Pow; })
                    .Case([](math::RsqrtOp) { return DeviceFunction::Rsqrt; })
                    .Case([](math::SinOp) { return DeviceFunction::Sin; })
                    .Case([](math::SqrtOp) { return DeviceFunction::Sqrt; })
                    .Case([](math::TanhOp) { return DeviceFunction::Tanh; })
                    .Default([](Operation *) { return Callee(); });
  if (!callee)
    return failure();
  SmallVector<Value> arguments = llvm::map_to_vector(op->getOperands(), [&](Value value) { return get(value); });
  return set(op, call(op, b.getF32Type(), *callee, arguments));
}
