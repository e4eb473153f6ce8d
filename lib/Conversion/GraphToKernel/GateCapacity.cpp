//===- GateCapacity.cpp - how many rows an expert takes -----------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

Value mlir::kernel::emitCapacity(KernelBuilder &b, moe::GateOp op, Value tokens) {
  moe::CapacityAttr attr = *op.getCapacity();
  auto constant = [&](double value) -> Value { return arith::ConstantOp::create(b, b.getF64FloatAttr(value)); };
  auto toF64 = [&](Value index) -> Value {
    return arith::SIToFPOp::create(b, b.getF64Type(), arith::IndexCastOp::create(b, b.getI64Type(), index));
  };
  // Locations are i32: a limit beyond them drops nothing, however far beyond it is.
  auto toI32 = [&](Value rows) -> Value {
    Value largest = constant(std::numeric_limits<int32_t>::max());
    return arith::FPToSIOp::create(b, b.getI32Type(), arith::MinimumFOp::create(b, rows, largest));
  };

  // A negative factor only bounds the need, which drops the same pairs.
  double factor = std::abs(attr.getFactor().convertToDouble());
  double experts = op.getNumExperts(), k = op.getK();
  if (attr.getRounding() == moe::Rounding::Tutel) {
    Value share = arith::MulFOp::create(b, constant(factor), toF64(b.ceilDiv(tokens, op.getNumExperts())));
    return toI32(arith::MulFOp::create(b, math::FloorOp::create(b, share), constant(k)));
  }
  Value pairs = arith::MulFOp::create(b, constant(factor * k), toF64(tokens));
  Value rows = arith::DivFOp::create(b, pairs, constant(experts));
  if (attr.getRounding() == moe::Rounding::DeepSpeed)
    rows = math::CeilOp::create(b, rows);
  return toI32(rows);
}
