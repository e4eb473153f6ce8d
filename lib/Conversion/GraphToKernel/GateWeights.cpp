//===- GateWeights.cpp - moe.gate: the weights of the chosen experts ----------------------------------------------===//

#include "GateProgram.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

Value GateProgram::chosen(KernelBuilder &b, Value t, Value j, double otherwise) {
  Value id = b.load(experts, {t, j}), exists = isExpert(b, id);
  Value e = b.max(b.toIndex(id), b.idx(0));
  return arith::SelectOp::create(b, exists, b.load(scores, {t, e}), b.f32(otherwise));
}

/// list[j] = score of the j-th choice; 0 without an expert.
void GateProgram::weigh(KernelBuilder &b, Value t) {
  switch (op.getScore()) {
  case moe::Score::SoftmaxAfter:
    return weighBySoftmax(b, t);
  case moe::Score::SparseMixer:
    return weighBySparseMixer(b, t);
  case moe::Score::SigmoidAfter:
    b.loop(b.idx(0), b.idx(k), 1, [&](Value j) {
      Value exists = isExpert(b, b.load(experts, {t, j})), weight = sigmoid(b, chosen(b, t, j, 0.0));
      b.store(arith::SelectOp::create(b, exists, weight, b.f32(0.0)), list, {t, j});
    });
    return;
  case moe::Score::Softmax:
  case moe::Score::Sigmoid:
  case moe::Score::SqrtSoftplus:
    b.loop(b.idx(0), b.idx(k), 1, [&](Value j) { b.store(chosen(b, t, j, 0.0), list, {t, j}); });
    return;
  }
}

/// Over the chosen logits.
void GateProgram::weighBySoftmax(KernelBuilder &b, Value t) {
  Value slots = b.idx(k);
  double lowest = -std::numeric_limits<double>::infinity();
  Value largest = reduce(b, slots, lowest, [&](Value j, Value acc) {
    return arith::MaximumFOp::create(b, acc, chosen(b, t, j, lowest)).getResult();
  });
  b.loop(b.idx(0), slots, 1, [&](Value j) {
    Value exp = math::ExpOp::create(b, arith::SubFOp::create(b, chosen(b, t, j, lowest), largest));
    b.store(arith::SelectOp::create(b, isExpert(b, b.load(experts, {t, j})), exp, b.f32(0.0)), list, {t, j});
  });
  Value sum = reduce(b, slots, 0.0, [&](Value j, Value acc) {
    return arith::AddFOp::create(b, acc, b.load(list, {t, j})).getResult();
  });
  b.loop(b.idx(0), slots, 1,
         [&](Value j) { b.store(arith::DivFOp::create(b, b.load(list, {t, j}), sum), list, {t, j}); });
}

/// The softmax at each choice over what is left then and is not far below it.
void GateProgram::weighBySparseMixer(KernelBuilder &b, Value t) {
  Value threshold = b.f32(2 * op.getJitter()->convertToDouble());
  b.loop(b.idx(0), b.idx(k), 1, [&](Value j) {
    Value own = chosen(b, t, j, 0.0);
    Value sum = reduce(b, b.idx(numExperts), 0.0, [&](Value e, Value acc) -> Value {
      Value earlier = b.loop(b.idx(0), j, 1, b.idx(0), [&](Value i, ValueRange count) {
        Value same = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, b.load(experts, {t, i}), b.toI32(e));
        Value one = arith::SelectOp::create(b, same, b.idx(1), b.idx(0));
        return SmallVector<Value>{arith::AddIOp::create(b, count[0], one)};
      })[0];
      Value score = b.load(scores, {t, e});
      Value size = arith::MaximumFOp::create(b, math::AbsFOp::create(b, score), own);
      Value distance = arith::DivFOp::create(b, arith::SubFOp::create(b, own, score), size);
      Value near = cmp(b, arith::CmpFPredicate::ULE, distance, threshold);
      Value left = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, earlier, b.idx(0));
      Value exp = math::ExpOp::create(b, arith::SubFOp::create(b, score, own));
      Value term = arith::SelectOp::create(b, arith::AndIOp::create(b, near, left), exp, b.f32(0.0));
      return arith::AddFOp::create(b, acc, term);
    });
    Value weight = arith::DivFOp::create(b, b.f32(1.0), sum);
    b.store(arith::SelectOp::create(b, isExpert(b, b.load(experts, {t, j})), weight, b.f32(0.0)), list, {t, j});
  });
}

/// The modes before the drop.
void GateProgram::renormalize(KernelBuilder &b, Value t) {
  moe::Renormalize mode = op.getRenormalize();
  if (mode == moe::Renormalize::None || mode == moe::Renormalize::After || (mode == moe::Renormalize::Before && k == 1))
    return;
  double p = op.getP() ? op.getP()->convertToDouble() : 2.0;
  Value norm = reduce(b, b.idx(k), 0.0, [&](Value j, Value acc) {
    Value w = b.load(list, {t, j});
    if (mode == moe::Renormalize::PNorm) {
      w = math::AbsFOp::create(b, w);
      if (p == 2.0)
        w = arith::MulFOp::create(b, w, w);
      else if (p != 1.0)
        w = math::PowFOp::create(b, w, b.f32(p));
    }
    return arith::AddFOp::create(b, acc, w).getResult();
  });
  if (mode == moe::Renormalize::Sum && op.getEps())
    norm = arith::AddFOp::create(b, norm, b.f32(op.getEps()->convertToDouble()));
  if (mode == moe::Renormalize::Sum && op.getLeast())
    norm = arith::MaximumFOp::create(b, norm, b.f32(op.getLeast()->convertToDouble()));
  if (mode == moe::Renormalize::Before)
    norm = arith::MaximumFOp::create(b, norm, b.f32(std::numeric_limits<float>::epsilon()));
  if (mode == moe::Renormalize::PNorm && p == 2.0)
    norm = math::SqrtOp::create(b, norm);
  else if (mode == moe::Renormalize::PNorm && p != 1.0)
    norm = math::PowFOp::create(b, norm, b.f32(1.0 / p));
  b.loop(b.idx(0), b.idx(k), 1,
         [&](Value j) { b.store(arith::DivFOp::create(b, b.load(list, {t, j}), norm), list, {t, j}); });
}

/// What follows the drop: the `after` mode, the scale, the rounding.
void GateProgram::finish(KernelBuilder &b, Value t) {
  auto kept = [&](Value j) -> Value {
    return arith::SelectOp::create(b, isExpert(b, b.load(experts, {t, j})), b.load(list, {t, j}), b.f32(0.0));
  };
  Value sum;
  if (op.getRenormalize() == moe::Renormalize::After) {
    sum = reduce(b, b.idx(k), 0.0,
                 [&](Value j, Value acc) { return arith::AddFOp::create(b, acc, kept(j)).getResult(); });
    sum = arith::MaximumFOp::create(b, sum, b.f32(std::numeric_limits<float>::epsilon()));
  }
  b.loop(b.idx(0), b.idx(k), 1, [&](Value j) {
    Value w = kept(j);
    if (sum)
      w = arith::DivFOp::create(b, w, sum);
    if (op.getScale())
      w = arith::MulFOp::create(b, w, b.f32(op.getScale()->convertToDouble()));
    b.store(b.convert(w, getElementTypeOrSelf(weights)), weights, {t, j});
  });
}
