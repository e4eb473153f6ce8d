//===- GateCapacity.cpp - how many rows an expert takes -----------------------------------------------------------===//
//
// The host program computes it, once a call, in f64 as PyTorch's layers do. Kernels need no f64.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

OpFoldResult mlir::kernel::capacityOf(OpBuilder &host, moe::GateOp op, OpFoldResult tokens) {
  moe::CapacityAttr attr = *op.getCapacity();
  ImplicitLocOpBuilder b(op.getLoc(), host);
  // Locations are i32: a limit beyond them drops nothing, however far beyond it is.
  constexpr int64_t largest = std::numeric_limits<int32_t>::max();
  auto number = [&](double value) -> Value { return arith::ConstantOp::create(b, b.getF64FloatAttr(value)); };
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, value); };
  auto toF64 = [&](Value value) -> Value {
    auto wide = b.createOrFold<arith::IndexCastOp>(b.getI64Type(), value);
    return b.createOrFold<arith::SIToFPOp>(b.getF64Type(), wide);
  };
  // The greatest integer that is not above; nothing is negative.
  auto toIndex = [&](Value value) -> Value {
    Value inRange = b.createOrFold<arith::MinimumFOp>(value, number(static_cast<double>(largest)));
    return b.createOrFold<arith::IndexCastOp>(b.getIndexType(),
                                              b.createOrFold<arith::FPToSIOp>(b.getI64Type(), inRange));
  };

  // A negative factor only bounds the need, which drops the same pairs.
  double factor = std::abs(attr.getFactor().convertToDouble());
  double experts = op.getNumExperts();
  int64_t k = op.getK();
  Value rows;
  if (attr.getRounding() == moe::Rounding::Tutel) {
    OpFoldResult share = ceilDivSize(b, op.getLoc(), tokens, op.getNumExperts());
    Value each = toF64(getValueOrCreateConstantIndexOp(b, op.getLoc(), share));
    rows = b.createOrFold<arith::MulIOp>(toIndex(b.createOrFold<arith::MulFOp>(number(factor), each)), index(k));
  } else {
    Value all = toF64(getValueOrCreateConstantIndexOp(b, op.getLoc(), tokens));
    Value pairs = b.createOrFold<arith::MulFOp>(number(factor * static_cast<double>(k)), all);
    Value share = b.createOrFold<arith::DivFOp>(pairs, number(experts));
    rows = toIndex(share);
    if (attr.getRounding() == moe::Rounding::DeepSpeed) {
      Value isLess = b.createOrFold<arith::CmpFOp>(arith::CmpFPredicate::OLT, toF64(rows), share);
      rows = b.createOrFold<arith::SelectOp>(isLess, b.createOrFold<arith::AddIOp>(rows, index(1)), rows);
    }
  }
  return getAsOpFoldResult(b.createOrFold<arith::MinSIOp>(rows, index(largest)));
}
