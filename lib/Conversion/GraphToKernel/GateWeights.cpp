//===- GateWeights.cpp - moe.gate: the weights of the chosen experts ----------------------------------------------===//

#include "GateProgram.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

/// list[j] = score of the j-th choice; 0 without an expert.
void GateProgram::weigh(KernelBuilder &b, Value t) {
  Value slots = b.idx(k);
  auto chosen = [&](Value j, double otherwise) -> Value {
    Value id = b.load(experts, {t, j}), exists = isExpert(b, id);
    Value e = b.max(b.toIndex(id), b.idx(0));
    return arith::SelectOp::create(b, exists, b.load(scores, {t, e}), b.f32(otherwise));
  };
  if (op.getScore() != moe::Score::SoftmaxAfter) {
    b.loop(b.idx(0), slots, 1, [&](Value j) { b.store(chosen(j, 0.0), list, {t, j}); });
    return;
  }
  double lowest = -std::numeric_limits<double>::infinity();
  Value largest = reduce(b, slots, lowest, [&](Value j, Value acc) {
    return arith::MaximumFOp::create(b, acc, chosen(j, lowest)).getResult();
  });
  b.loop(b.idx(0), slots, 1, [&](Value j) {
    Value exp = math::ExpOp::create(b, arith::SubFOp::create(b, chosen(j, lowest), largest));
    b.store(arith::SelectOp::create(b, isExpert(b, b.load(experts, {t, j})), exp, b.f32(0.0)), list, {t, j});
  });
  Value sum = reduce(b, slots, 0.0, [&](Value j, Value acc) {
    return arith::AddFOp::create(b, acc, b.load(list, {t, j})).getResult();
  });
  b.loop(b.idx(0), slots, 1,
         [&](Value j) { b.store(arith::DivFOp::create(b, b.load(list, {t, j}), sum), list, {t, j}); });
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
