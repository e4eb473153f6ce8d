//===- Scalars.cpp - types and conversions of elements ------------------------------------------------------------===//

#include "Lowering.h"

#include "moe-mlir/Dialect/Aten/IR/Promotion.h"

using namespace mlir;
using namespace mlir::aten;

Type mlir::aten::getComputeType(Type element) {
  if (element.isBF16() || element.isF16())
    return Float32Type::get(element.getContext());
  return element;
}

Type mlir::aten::getPromotedType(OpBuilder &b, ArrayRef<Value> operands) {
  Promotion promotion;
  for (Value operand : operands)
    promotion.add(operand);
  // The file does not say which float is PyTorch's default; it is hardly another one.
  Type type = promotion.get()->type;
  return type ? type : b.getF32Type();
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
