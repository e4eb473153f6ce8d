//===- LinalgBuilder.cpp - tensor code, one linalg.generic at a time ----------------------------------------------===//

#include "moe-mlir/Support/LinalgBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace moe_mlir;

Value LinalgBuilder::Step::index(int64_t loop) const { return linalg::IndexOp::create(b, loop); }

SmallVector<OpFoldResult> LinalgBuilder::sizes(Value tensor) { return tensor::getMixedSizes(b, b.getLoc(), tensor); }

OpFoldResult LinalgBuilder::size(Value tensor, int64_t dim) { return tensor::getMixedSize(b, b.getLoc(), tensor, dim); }

Value LinalgBuilder::cast(Value tensor, Type type) {
  return tensor.getType() == type ? tensor : tensor::CastOp::create(b, type, tensor).getResult();
}

Value LinalgBuilder::generic(Sizes loops, int64_t kept, Value init, ArrayRef<Operand> operands, Body body) {
  int64_t count = loops.size();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  // Loops take their bounds from operands: a reduction over a loop that indexes none gets an operand without a use.
  llvm::SmallBitVector bounded(count);
  bounded.set(0, kept);
  auto addOperand = [&](Value tensor, ArrayRef<int64_t> indices) {
    SmallVector<AffineExpr> exprs;
    for (int64_t loop : indices) {
      exprs.push_back(loop == broadcast ? b.getAffineConstantExpr(0) : b.getAffineDimExpr(loop));
      if (loop != broadcast)
        bounded.set(loop);
    }
    inputs.push_back(tensor);
    maps.push_back(AffineMap::get(count, 0, exprs, b.getContext()));
  };
  for (const Operand &operand : operands)
    addOperand(operand.tensor, operand.loops);
  for (int64_t loop = 0; loop < count; ++loop)
    if (!bounded.test(loop))
      addOperand(tensor::EmptyOp::create(b, ArrayRef<OpFoldResult>(loops[loop]), b.getI1Type()), {loop});
  SmallVector<AffineExpr> keptDims;
  for (int64_t loop = 0; loop < kept; ++loop)
    keptDims.push_back(b.getAffineDimExpr(loop));
  maps.push_back(AffineMap::get(count, 0, keptDims, b.getContext()));

  SmallVector<utils::IteratorType> kinds(count, utils::IteratorType::reduction);
  std::fill_n(kinds.begin(), kept, utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      b, init.getType(), inputs, init, maps, kinds, [&](OpBuilder &nested, Location loc, ValueRange args) {
        ImplicitLocOpBuilder inner(loc, nested);
        Step step{inner, SmallVector<Value>(args.take_front(operands.size())), args.back()};
        linalg::YieldOp::create(inner, body(step));
      });
  return op.getResult(0);
}

Value LinalgBuilder::map(Sizes loops, Type element, ArrayRef<Operand> operands, Body body) {
  return generic(loops, loops.size(), tensor::EmptyOp::create(b, loops, element), operands, body);
}

Value LinalgBuilder::reduce(Sizes loops, int64_t kept, TypedAttr init, ArrayRef<Operand> operands, Body body) {
  Value empty = tensor::EmptyOp::create(b, loops.take_front(kept), init.getType());
  Value start = arith::ConstantOp::create(b, init);
  Value filled = linalg::FillOp::create(b, start, empty).getResult(0);
  return generic(loops, kept, filled, operands, body);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Type moe_mlir::elementOf(Value value) { return getElementTypeOrSelf(value.getType()); }

Value moe_mlir::toF32(ImplicitLocOpBuilder &b, Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  if (element.isF32())
    return value;
  Type wide = b.getF32Type();
  if (auto shaped = dyn_cast<ShapedType>(value.getType()))
    wide = shaped.clone(wide);
  return arith::ExtFOp::create(b, wide, value);
}

Value moe_mlir::fromF32(ImplicitLocOpBuilder &b, Value value, Type element) {
  if (element.isF32())
    return value;
  if (auto shaped = dyn_cast<ShapedType>(value.getType()))
    element = shaped.clone(element);
  return arith::TruncFOp::create(b, element, value);
}

Value moe_mlir::constantF32(ImplicitLocOpBuilder &b, float value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}

Value moe_mlir::constantIndex(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getIndexAttr(value));
}

Value moe_mlir::toIndex(ImplicitLocOpBuilder &b, Value value) {
  return value.getType().isIndex() ? value : arith::IndexCastOp::create(b, b.getIndexType(), value).getResult();
}

Value moe_mlir::toIndex(ImplicitLocOpBuilder &b, OpFoldResult size) {
  return getValueOrCreateConstantIndexOp(b, b.getLoc(), size);
}

Value moe_mlir::addProductF32(LinalgBuilder::Step &step) {
  Value product = arith::MulFOp::create(step.b, toF32(step.b, step.in[0]), toF32(step.b, step.in[1]));
  return arith::AddFOp::create(step.b, step.acc, product);
}

Value moe_mlir::siluF32(ImplicitLocOpBuilder &b, Value x) {
  TypedAttr one = b.getF32FloatAttr(1.0f);
  if (auto shaped = dyn_cast<ShapedType>(x.getType()))
    one = DenseElementsAttr::get(shaped, one);
  Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  Value divisor = arith::AddFOp::create(b, arith::ConstantOp::create(b, one), exp);
  return arith::DivFOp::create(b, x, divisor);
}
