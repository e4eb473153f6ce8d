//===- GateScores.cpp - moe.gate: the score of each expert --------------------------------------------------------===//

#include "GateProgram.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

Value GateProgram::sigmoid(KernelBuilder &b, Value x) {
  Value one = b.f32(1.0);
  return arith::DivFOp::create(b, one,
                               arith::AddFOp::create(b, one, math::ExpOp::create(b, arith::NegFOp::create(b, x))));
}

void GateProgram::score(KernelBuilder &b, Value t) {
  Value n = b.idx(numExperts);
  auto logit = [&](Value e) { return b.toF32(b.load(logits, {t, e})); };
  auto map = [&](llvm::function_ref<Value(Value)> fn) {
    b.loop(b.idx(0), n, 1, [&](Value e) { b.store(fn(logit(e)), scores, {t, e}); });
  };
  switch (op.getScore()) {
  case moe::Score::Softmax: {
    Value largest = reduce(b, n, -std::numeric_limits<double>::infinity(),
                           [&](Value e, Value acc) { return arith::MaximumFOp::create(b, acc, logit(e)).getResult(); });
    map([&](Value x) { return math::ExpOp::create(b, arith::SubFOp::create(b, x, largest)).getResult(); });
    Value sum = reduce(b, n, 0.0, [&](Value e, Value acc) { return b.reduceAdd(acc, b.load(scores, {t, e})); });
    b.loop(b.idx(0), n, 1,
           [&](Value e) { b.store(arith::DivFOp::create(b, b.load(scores, {t, e}), sum), scores, {t, e}); });
    return;
  }
  case moe::Score::SoftmaxAfter:
  case moe::Score::SigmoidAfter:
  case moe::Score::SparseMixer:
    return map([](Value x) { return x; });
  case moe::Score::Sigmoid:
    return map([&](Value x) { return sigmoid(b, x); });
  case moe::Score::SqrtSoftplus:
    // log(1 + e^x) = max(x, 0) + log1p(e^-|x|), without overflow
    return map([&](Value x) -> Value {
      Value tail =
          math::Log1pOp::create(b, math::ExpOp::create(b, arith::NegFOp::create(b, math::AbsFOp::create(b, x))));
      return math::SqrtOp::create(b, arith::AddFOp::create(b, arith::MaximumFOp::create(b, x, b.f32(0.0)), tail));
    });
  }
}
