//===- GateChoice.cpp - moe.gate: which experts a token goes to ---------------------------------------------------===//

#include "GateProgram.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

Value GateProgram::choiceOf(KernelBuilder &b, Value t, Value e) {
  Value value = b.load(scores, {t, e});
  if (bias)
    value = arith::AddFOp::create(b, value, b.toF32(b.load(bias, e)));
  Value isNan = cmp(b, arith::CmpFPredicate::UNO, value, value);
  return arith::SelectOp::create(b, isNan, b.f32(std::numeric_limits<double>::infinity()), value);
}

/// Writes the choice values, with NaN for the experts of groups that do not compete.
void GateProgram::maskGroups(KernelBuilder &b, Value t) {
  moe::GroupsAttr groups = *op.getGroups();
  Value n = b.idx(numExperts), size = b.idx(numExperts / groups.getCount()), count = b.idx(groups.getCount());
  b.loop(b.idx(0), n, 1, [&](Value e) { b.store(choiceOf(b, t, e), choices, {t, e}); });
  Value lowest = b.f32(-std::numeric_limits<double>::infinity());
  b.loop(b.idx(0), count, 1, [&](Value g) {
    Value first = b.mul(g, size);
    SmallVector<Value> best = b.loop(first, b.add(first, size), 1, {lowest, lowest}, [&](Value e, ValueRange acc) {
      Value value = b.load(choices, {t, e});
      Value smaller = arith::MinimumFOp::create(b, acc[0], value);
      return SmallVector<Value>{arith::MaximumFOp::create(b, acc[0], value),
                                arith::MaximumFOp::create(b, acc[1], smaller)};
    });
    bool sumOfTwo = groups.getScore() == moe::GroupScore::Top2Sum && numExperts > groups.getCount();
    b.store(sumOfTwo ? arith::AddFOp::create(b, best[0], best[1]).getResult() : best[0], groupScores, {t, g});
  });
  // A group competes if fewer than `keep` groups rank before it.
  b.loop(b.idx(0), count, 1, [&](Value g) {
    Value own = b.load(groupScores, {t, g});
    Value rank = b.loop(b.idx(0), count, 1, b.idx(0), [&](Value other, ValueRange acc) {
      Value value = b.load(groupScores, {t, other});
      Value ahead = cmp(b, arith::CmpFPredicate::OGT, value, own);
      Value tie = arith::AndIOp::create(b, cmp(b, arith::CmpFPredicate::OEQ, value, own),
                                        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, other, g));
      Value before = arith::OrIOp::create(b, ahead, tie);
      return SmallVector<Value>{
          arith::AddIOp::create(b, acc[0], arith::SelectOp::create(b, before, b.idx(1), b.idx(0)))};
    })[0];
    Value out = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, rank, b.idx(groups.getKeep()));
    b.branch(out, [&] {
      Value first = b.mul(g, size);
      b.loop(first, b.add(first, size), 1,
             [&](Value e) { b.store(b.f32(std::numeric_limits<double>::quiet_NaN()), choices, {t, e}); });
    });
  });
}

/// Each slot takes the best of the experts that rank behind the one before: lower value, or equal value and higher
/// number. The best is the largest value, then the lowest number that has it, so that ties go to the lower expert.
void GateProgram::choose(KernelBuilder &b, Value t) {
  Value infinity = b.f32(std::numeric_limits<double>::infinity());
  auto valueOf = [&](Value e) { return op.getGroups() ? b.load(choices, {t, e}) : choiceOf(b, t, e); };
  auto number = [&](int64_t value) -> Value { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); };
  auto greater = [&](Value x, Value y) -> Value { return arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, x, y); };
  auto flags = arith::FastMathFlags::nnan | arith::FastMathFlags::nsz;
  Value n = b.idx(numExperts), none = number(-1), end = number(numExperts);
  // Those that do not rank behind count as the least value. (As a constant, minus infinity, it would be the neutral
  // element, and LLVM would make the reductions conditional, which it does not vectorise.)
  Value least = b.loop(b.idx(0), n, 1, infinity, [&](Value e, ValueRange acc) {
    Value value = valueOf(e), competes = cmp(b, arith::CmpFPredicate::ORD, value, value);
    Value candidate = arith::SelectOp::create(b, competes, value, infinity);
    return SmallVector<Value>{arith::MinimumFOp::create(b, acc[0], candidate, flags)};
  })[0];
  b.loop(b.idx(0), b.idx(k), 1, {infinity, none}, [&](Value j, ValueRange last) {
    Value best = b.loop(b.idx(0), n, 1, least, [&](Value e, ValueRange acc) {
      Value value = valueOf(e), lower = cmp(b, arith::CmpFPredicate::OLT, value, last[0]);
      Value mayTie = cmp(b, arith::CmpFPredicate::OLE, value, last[0]);
      Value remains = arith::SelectOp::create(b, greater(b.toI32(e), last[1]), mayTie, lower);
      Value candidate = arith::SelectOp::create(b, remains, value, least);
      return SmallVector<Value>{arith::MaximumFOp::create(b, acc[0], candidate, flags)};
    })[0];
    Value isTie = cmp(b, arith::CmpFPredicate::OEQ, best, last[0]);
    Value after = arith::SelectOp::create(b, isTie, last[1], none);
    Value first = b.loop(b.idx(0), n, 1, end, [&](Value e, ValueRange acc) {
      Value has = cmp(b, arith::CmpFPredicate::OEQ, valueOf(e), best), id = b.toI32(e);
      Value fits = arith::AndIOp::create(b, has, greater(id, after));
      return SmallVector<Value>{
          arith::MinSIOp::create(b, acc[0], arith::SelectOp::create(b, fits, id, end).getResult())};
    })[0];
    // With groups there may be fewer competitors than slots.
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, end);
    b.store(arith::SelectOp::create(b, exists, first, none), experts, {t, j});
    return SmallVector<Value>{best, first};
  });
}

void GateProgram::takeGiven(KernelBuilder &b, Value t) {
  b.loop(b.idx(0), b.idx(k), 1, [&](Value j) {
    Value id = b.load(ids, {t, j});
    Value limit = arith::ConstantOp::create(b, b.getIntegerAttr(id.getType(), numExperts));
    // Unsigned: negative numbers are out of range as well.
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, id, limit);
    Value narrow = id.getType().isInteger(32) ? id : arith::TruncIOp::create(b, b.getI32Type(), id).getResult();
    Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
    b.store(arith::SelectOp::create(b, exists, narrow, none), experts, {t, j});
  });
}
