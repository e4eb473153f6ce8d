//===- Scalars.cpp - types and conversions of elements ------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::aten;

Type mlir::aten::getComputeType(Type element) {
  if (element.isBF16() || element.isF16())
    return Float32Type::get(element.getContext());
  return element;
}

/// Truth values (0), whole numbers, floats (2).
static int categoryOf(Type type) { return isa<FloatType>(type) ? 2 : type.isInteger(1) ? 0 : 1; }

static Type promoteTwo(Type x, Type y) {
  if (categoryOf(x) != categoryOf(y))
    return categoryOf(x) < categoryOf(y) ? y : x;
  unsigned first = x.getIntOrFloatBitWidth(), second = y.getIntOrFloatBitWidth();
  if (first == second && x != y) // bf16 and f16
    return Float32Type::get(x.getContext());
  return first < second ? y : x;
}

Type mlir::aten::getPromotedType(OpBuilder &b, ArrayRef<Value> operands) {
  Type kinds[3]; // of tensors with dimensions, of tensors without, and of numbers
  for (Value operand : operands) {
    auto tensor = dyn_cast<RankedTensorType>(operand.getType());
    Type type = getElementTypeOrSelf(operand);
    if (!tensor && isa<FloatType>(type)) // The file does not say which type is the default; it is hardly another one.
      type = b.getF32Type();
    Type &kind = kinds[tensor ? (tensor.getRank() ? 0 : 1) : 2];
    kind = kind ? promoteTwo(kind, type) : type;
  }
  Type promoted;
  for (Type kind : kinds)
    if (kind && (!promoted || categoryOf(kind) > categoryOf(promoted)))
      promoted = kind;
  return promoted;
}

Value mlir::aten::convertScalar(OpBuilder &b, Location loc, Value value, Type to) {
  Type from = value.getType();
  if (from == to)
    return value;
  if (to.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(from));
    if (isa<FloatType>(from))
      return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, value, zero);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value, zero);
  }
  unsigned fromWidth = from.isIndex() ? 64 : from.getIntOrFloatBitWidth();
  if (from.isIndex())
    return convertScalar(b, loc, arith::IndexCastOp::create(b, loc, b.getI64Type(), value), to);
  unsigned toWidth = to.getIntOrFloatBitWidth();
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    if (fromWidth == toWidth) // bf16 and f16 meet in f32
      return convertScalar(b, loc, arith::ExtFOp::create(b, loc, b.getF32Type(), value), to);
    if (fromWidth < toWidth)
      return arith::ExtFOp::create(b, loc, to, value);
    if (from.isF64() && toWidth == 16) // PyTorch makes 16-bit floats of f32, and so rounds twice
      value = arith::TruncFOp::create(b, loc, b.getF32Type(), value);
    return arith::TruncFOp::create(b, loc, to, value);
  }
  if (isa<FloatType>(from))
    return arith::FPToSIOp::create(b, loc, to, value);
  if (isa<FloatType>(to)) {
    if (from.isInteger(1))
      return arith::UIToFPOp::create(b, loc, to, value);
    return arith::SIToFPOp::create(b, loc, to, value);
  }
  if (from.isInteger(1))
    return arith::ExtUIOp::create(b, loc, to, value);
  if (fromWidth < toWidth)
    return arith::ExtSIOp::create(b, loc, to, value);
  return arith::TruncIOp::create(b, loc, to, value);
}
