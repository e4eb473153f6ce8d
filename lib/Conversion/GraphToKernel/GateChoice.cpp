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

/// Keeps the k best experts in order in `list` (values) and `experts`: each candidate that beats the last entry moves
/// in at its place. Equal values stay behind, so that ties go to the lower expert.
void GateProgram::choose(KernelBuilder &b, Value t) {
  Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  Value slots = b.idx(k), last = b.idx(k - 1);
  b.loop(b.idx(0), slots, 1, [&](Value j) {
    b.store(none, experts, {t, j});
    b.store(b.f32(-std::numeric_limits<double>::infinity()), list, {t, j});
  });
  auto beats = [&](Value value, Value j) {
    Value isFree = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, b.load(experts, {t, j}),
                                         arith::ConstantOp::create(b, b.getI32IntegerAttr(0)));
    return arith::OrIOp::create(b, isFree, cmp(b, arith::CmpFPredicate::OGT, value, b.load(list, {t, j}))).getResult();
  };
  b.loop(b.idx(0), b.idx(numExperts), 1, [&](Value e) {
    Value value = op.getGroups() ? b.load(choices, {t, e}) : choiceOf(b, t, e);
    Value enters = beats(value, last);
    if (op.getGroups())
      enters = arith::AndIOp::create(b, enters, cmp(b, arith::CmpFPredicate::ORD, value, value));
    b.branch(enters, [&] {
      Value never = arith::ConstantOp::create(b, b.getBoolAttr(false));
      b.loop(b.idx(0), slots, 1, {value, b.toI32(e), never}, [&](Value j, ValueRange carried) {
        // Once the candidate is in, everything behind it moves on by one.
        Value here = arith::OrIOp::create(b, carried[2], beats(carried[0], j));
        Value oldValue = b.load(list, {t, j}), oldId = b.load(experts, {t, j});
        b.store(arith::SelectOp::create(b, here, carried[0], oldValue), list, {t, j});
        b.store(arith::SelectOp::create(b, here, carried[1], oldId), experts, {t, j});
        return SmallVector<Value>{arith::SelectOp::create(b, here, oldValue, carried[0]),
                                  arith::SelectOp::create(b, here, oldId, carried[1]), here};
      });
    });
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
