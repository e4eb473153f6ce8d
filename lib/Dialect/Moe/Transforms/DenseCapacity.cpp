//===- DenseCapacity.cpp - which pairs find a place in their expert -----------------------------------------------===//

#include "Dense.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::moe;
using namespace moe_mlir;

using Step = LinalgBuilder::Step;
using arith::CmpIPredicate;

/// The place of each pair in its expert, slot-major: all first choices before all second ones.
static Value locations(LinalgBuilder &linalg, ImplicitLocOpBuilder &b, Value ids) {
  SmallVector<OpFoldResult> loops = linalg.sizes(ids);
  loops.append(linalg.sizes(ids));
  return linalg.reduce(loops, 2, b.getI64IntegerAttr(0), {{ids, {0, 1}}, {ids, {2, 3}}}, [](Step &step) -> Value {
    ImplicitLocOpBuilder &at = step.b;
    Value same = arith::CmpIOp::create(at, CmpIPredicate::eq, step.in[0], step.in[1]);
    Value earlierSlot = arith::CmpIOp::create(at, CmpIPredicate::slt, step.index(3), step.index(1));
    Value sameSlot = arith::CmpIOp::create(at, CmpIPredicate::eq, step.index(3), step.index(1));
    Value earlierToken = arith::CmpIOp::create(at, CmpIPredicate::slt, step.index(2), step.index(0));
    Value before = arith::OrIOp::create(at, earlierSlot, arith::AndIOp::create(at, sameSlot, earlierToken));
    Value one = arith::ConstantOp::create(at, at.getI64IntegerAttr(1));
    Value next = arith::AddIOp::create(at, step.acc, one);
    return arith::SelectOp::create(at, arith::AndIOp::create(at, same, before), next, step.acc);
  });
}

/// The rows that the fullest expert needs: a tensor of rank 0, i64.
static Value needed(LinalgBuilder &linalg, ImplicitLocOpBuilder &b, Value ids, Value places) {
  return linalg.reduce(linalg.sizes(ids), 0, b.getI64IntegerAttr(0), {{ids, {0, 1}}, {places, {0, 1}}},
                       [](Step &step) -> Value {
                         Value one = arith::ConstantOp::create(step.b, step.b.getI64IntegerAttr(1));
                         Value need = arith::AddIOp::create(step.b, step.in[1], one);
                         Value larger = arith::MaxSIOp::create(step.b, step.acc, need);
                         return arith::SelectOp::create(step.b, isExpert(step.b, step.in[0]), larger, step.acc);
                       });
}

/// The capacity of a factor > 0, i64; see #moe.capacity.
static Value rounded(ImplicitLocOpBuilder &b, GateOp op, double factor, Value tokens) {
  Type i64 = b.getI64Type(), f64 = b.getF64Type();
  auto floating = [&](double value) -> Value { return arith::ConstantOp::create(b, b.getF64FloatAttr(value)); };
  auto integer = [&](int64_t value) -> Value { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); };
  auto toFloat = [&](Value value) -> Value { return arith::SIToFPOp::create(b, f64, value); };
  // Beyond 2^40 rows nothing is dropped; a conversion beyond i64 would have no defined value.
  auto toInteger = [&](Value value) -> Value {
    return arith::FPToSIOp::create(b, i64, arith::MinimumFOp::create(b, value, floating(0x1p40)));
  };
  if (op.getCapacity()->getRounding() == Rounding::Tutel) {
    Value share = toFloat(arith::CeilDivSIOp::create(b, tokens, integer(op.getNumExperts())));
    Value each = toInteger(arith::MulFOp::create(b, floating(factor), share));
    return arith::MulIOp::create(b, integer(op.getK()), each);
  }
  Value perToken = arith::MulFOp::create(b, floating(factor), floating(op.getK()));
  Value pairs = arith::MulFOp::create(b, perToken, toFloat(tokens));
  Value rows = arith::DivFOp::create(b, pairs, floating(op.getNumExperts()));
  if (op.getCapacity()->getRounding() == Rounding::DeepSpeed)
    rows = math::CeilOp::create(b, rows);
  return toInteger(rows);
}

Value moe::dropBeyondCapacity(ImplicitLocOpBuilder &b, GateOp op, Value ids) {
  LinalgBuilder linalg(b);
  double factor = op.getCapacity()->getFactor().convertToDouble();
  Value places = locations(linalg, b, ids), count = toIndex(b, linalg.size(ids, 0));
  SmallVector<LinalgBuilder::Operand> operands = {{ids, {0, 1}}, {places, {0, 1}}};
  if (factor < 0)
    operands.push_back({needed(linalg, b, ids, places), {}});
  return linalg.map(linalg.sizes(ids), b.getI32Type(), operands, [&](Step &step) -> Value {
    Value tokens = arith::IndexCastOp::create(step.b, step.b.getI64Type(), count);
    Value rows = rounded(step.b, op, std::abs(factor), tokens);
    if (factor < 0)
      rows = arith::MinSIOp::create(step.b, rows, step.in[2]);
    Value fits = arith::CmpIOp::create(step.b, CmpIPredicate::slt, step.in[1], rows);
    return arith::SelectOp::create(step.b, fits, step.in[0], constantI32(step.b, -1));
  });
}
