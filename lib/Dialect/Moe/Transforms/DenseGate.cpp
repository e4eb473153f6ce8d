//===- DenseGate.cpp - moe.gate over all tokens and experts -------------------------------------------------------===//
//
// The steps of moe.gate in their order, each one or two loops nests over (token, expert) or (token, slot). Order is
// counted, not sorted: the rank of an expert is the number of experts that beat it.
//
//===---------------------------------------------------------------------------------------------------------------===//

#include "Dense.h"

#include "moe-mlir/Dialect/Moe/Transforms/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"

#include <limits>

using namespace mlir;
using namespace mlir::moe;
using namespace moe_mlir;

using Step = LinalgBuilder::Step;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();
static constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

namespace {
class GateBuilder {
public:
  GateBuilder(GateOp op, GateOp::Adaptor operands, ImplicitLocOpBuilder &b)
      : op(op), operands(operands), b(b), linalg(b), t(linalg.size(operands.getLogits(), 0)),
        e(linalg.size(op.getNumExperts())), k(linalg.size(op.getK())) {}

  /// (weights, experts), in f32 and i32.
  std::pair<Value, Value> build();

private:
  using Unary = llvm::function_ref<Value(ImplicitLocOpBuilder &, Value)>;

  // Over (token, expert).
  Value scores();
  Value softmax(Value logits);
  Value selectionScores(Value scores);
  Value keepBestGroups(Value selection);
  Value ranks(Value values, int64_t group);
  // Over (token, slot).
  Value topK(Value selection);
  Value fixedIds();
  Value weigh(Value scores, Value ids);
  Value weightsOf(Value scores, Value ids);
  Value softmaxOfChosen(Value logits, Value ids);
  Value sigmoidOfChosen(Value logits, Value ids);
  Value sparseMixer(Value logits, Value ids);
  Value renormalize(Value weights, Renormalize mode);

  Value mapScores(Value tensor, Unary f);
  static Value sigmoid(ImplicitLocOpBuilder &at, Value x);
  Value sumOfRow(Value tensor, Unary term);

  GateOp op;
  GateOp::Adaptor operands;
  ImplicitLocOpBuilder &b;
  LinalgBuilder linalg;
  OpFoldResult t, e, k;
};
} // namespace

/// One value per (token, expert) or (token, slot), by element.
Value GateBuilder::mapScores(Value tensor, Unary f) {
  return linalg.map(linalg.sizes(tensor), b.getF32Type(), {{tensor, {0, 1}}},
                    [&](Step &step) { return f(step.b, step.in[0]); });
}

/// The sum of term(x) over the second dimension, in its order.
Value GateBuilder::sumOfRow(Value tensor, Unary term) {
  return linalg.reduce(linalg.sizes(tensor), 1, b.getF32FloatAttr(0), {{tensor, {0, 1}}}, [&](Step &step) -> Value {
    return arith::AddFOp::create(step.b, step.acc, term(step.b, step.in[0]));
  });
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value GateBuilder::softmax(Value logits) {
  Value largest =
      linalg.reduce(linalg.sizes(logits), 1, b.getF32FloatAttr(-kInfinity), {{logits, {0, 1}}},
                    [](Step &step) -> Value { return arith::MaximumFOp::create(step.b, step.acc, step.in[0]); });
  Value exps =
      linalg.map(linalg.sizes(logits), b.getF32Type(), {{logits, {0, 1}}, {largest, {0}}}, [](Step &step) -> Value {
        return math::ExpOp::create(step.b, arith::SubFOp::create(step.b, step.in[0], step.in[1]));
      });
  Value sum = sumOfRow(exps, [](ImplicitLocOpBuilder &, Value x) { return x; });
  return linalg.map(linalg.sizes(logits), b.getF32Type(), {{exps, {0, 1}}, {sum, {0}}},
                    [](Step &step) -> Value { return arith::DivFOp::create(step.b, step.in[0], step.in[1]); });
}

Value GateBuilder::sigmoid(ImplicitLocOpBuilder &at, Value x) {
  Value exp = math::ExpOp::create(at, arith::NegFOp::create(at, x)), one = constantF32(at, 1);
  return arith::DivFOp::create(at, one, arith::AddFOp::create(at, one, exp));
}

Value GateBuilder::scores() {
  Value logits = mapScores(operands.getLogits(), toF32);
  switch (op.getScore()) {
  case Score::Softmax:
    return softmax(logits);
  case Score::SoftmaxAfter:
  case Score::SigmoidAfter:
  case Score::SparseMixer:
    return logits;
  case Score::Sigmoid:
    return mapScores(logits, sigmoid);
  case Score::SqrtSoftplus:
    // log(1 + exp(x)) without overflow: max(x, 0) + log1p(exp(-|x|)).
    return mapScores(logits, [](ImplicitLocOpBuilder &at, Value x) -> Value {
      Value small = math::ExpOp::create(at, arith::NegFOp::create(at, math::AbsFOp::create(at, x)));
      Value softplus = arith::AddFOp::create(at, arith::MaximumFOp::create(at, x, constantF32(at, 0)),
                                             math::Log1pOp::create(at, small));
      return math::SqrtOp::create(at, softplus);
    });
  }
  llvm_unreachable("all score functions are handled");
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// For each value the number of values of its group of `group` experts that are larger, or equal and earlier. NaN
/// stands for what does not compete: every number is larger.
Value GateBuilder::ranks(Value values, int64_t group) {
  OpFoldResult width = linalg.size(values, 1);
  return linalg.reduce(
      {t, width, width}, 2, b.getI32IntegerAttr(0), {{values, {0, 1}}, {values, {0, 2}}}, [&](Step &step) -> Value {
        ImplicitLocOpBuilder &at = step.b;
        Value mine = step.in[0], other = step.in[1], i = step.index(1), j = step.index(2);
        Value competes = arith::CmpFOp::create(at, CmpFPredicate::ORD, other, other);
        Value larger = arith::AndIOp::create(at, competes, arith::CmpFOp::create(at, CmpFPredicate::UGT, other, mine));
        Value equal = arith::CmpFOp::create(at, CmpFPredicate::OEQ, other, mine);
        Value earlier = arith::CmpIOp::create(at, CmpIPredicate::slt, j, i);
        Value beats = arith::OrIOp::create(at, larger, arith::AndIOp::create(at, equal, earlier));
        Value size = constantIndex(at, group);
        Value near = arith::CmpIOp::create(at, CmpIPredicate::eq, arith::DivUIOp::create(at, i, size),
                                           arith::DivUIOp::create(at, j, size));
        Value next = arith::AddIOp::create(at, step.acc, constantI32(at, 1));
        return arith::SelectOp::create(at, arith::AndIOp::create(at, beats, near), next, step.acc);
      });
}

/// Scores of experts outside the best groups become NaN: they do not compete.
Value GateBuilder::keepBestGroups(Value selection) {
  GroupsAttr groups = *op.getGroups();
  int64_t size = op.getNumExperts() / groups.getCount();
  int32_t summed = groups.getScore() == GroupScore::Max ? 1 : 2;
  Value rankInGroup = ranks(selection, size);
  // The sum of the best one or two of each group; the sum of two terms does not depend on their order.
  Value groupScores =
      linalg.reduce({t, linalg.size(groups.getCount()), e}, 2, b.getF32FloatAttr(0),
                    {{selection, {0, 2}}, {rankInGroup, {0, 2}}}, [&](Step &step) -> Value {
                      ImplicitLocOpBuilder &at = step.b;
                      Value group = arith::DivUIOp::create(at, step.index(2), constantIndex(at, size));
                      Value inside = arith::CmpIOp::create(at, CmpIPredicate::eq, group, step.index(1));
                      Value best = arith::CmpIOp::create(at, CmpIPredicate::slt, step.in[1], constantI32(at, summed));
                      Value next = arith::AddFOp::create(at, step.acc, step.in[0]);
                      return arith::SelectOp::create(at, arith::AndIOp::create(at, inside, best), next, step.acc);
                    });
  Value groupRanks = ranks(groupScores, groups.getCount());
  return linalg.map({t, e}, b.getF32Type(), {{selection, {0, 1}}}, [&](Step &step) -> Value {
    ImplicitLocOpBuilder &at = step.b;
    Value group = arith::DivUIOp::create(at, step.index(1), constantIndex(at, size));
    Value rank = tensor::ExtractOp::create(at, groupRanks, ValueRange{step.index(0), group});
    Value kept = arith::CmpIOp::create(at, CmpIPredicate::slt, rank, constantI32(at, groups.getKeep()));
    return arith::SelectOp::create(at, kept, step.in[0], constantF32(at, kNan));
  });
}

/// What the choice ranks: score plus bias. A score that is no number ranks first, so that the result shows it.
Value GateBuilder::selectionScores(Value scores) {
  SmallVector<LinalgBuilder::Operand> operandsOfRow = {{scores, {0, 1}}};
  if (operands.getBias())
    operandsOfRow.push_back({operands.getBias(), {1}});
  Value selection = linalg.map({t, e}, b.getF32Type(), operandsOfRow, [](Step &step) -> Value {
    ImplicitLocOpBuilder &at = step.b;
    Value value = step.in[0];
    if (step.in.size() == 2)
      value = arith::AddFOp::create(at, value, toF32(at, step.in[1]));
    Value isNan = arith::CmpFOp::create(at, CmpFPredicate::UNO, value, value);
    return arith::SelectOp::create(at, isNan, constantF32(at, kInfinity), value);
  });
  return op.getGroups() ? keepBestGroups(selection) : selection;
}

Value GateBuilder::topK(Value selection) {
  Value rank = ranks(selection, op.getNumExperts());
  return linalg.reduce({t, k, e}, 2, b.getI32IntegerAttr(-1), {{rank, {0, 2}}}, [](Step &step) -> Value {
    ImplicitLocOpBuilder &at = step.b;
    Value match = arith::CmpIOp::create(at, CmpIPredicate::eq, toIndex(at, step.in[0]), step.index(1));
    Value expert = arith::IndexCastOp::create(at, at.getI32Type(), step.index(2));
    return arith::SelectOp::create(at, match, expert, step.acc);
  });
}

/// The ids that are given; what is no expert becomes -1.
Value GateBuilder::fixedIds() {
  return linalg.map({t, k}, b.getI32Type(), {{operands.getIds(), {0, 1}}}, [&](Step &step) -> Value {
    ImplicitLocOpBuilder &at = step.b;
    Value id = step.in[0];
    Value experts = arith::ConstantOp::create(at, at.getIntegerAttr(id.getType(), op.getNumExperts()));
    Value valid = arith::CmpIOp::create(at, CmpIPredicate::ult, id, experts);
    if (!id.getType().isInteger(32))
      id = arith::TruncIOp::create(at, at.getI32Type(), id);
    return arith::SelectOp::create(at, valid, id, constantI32(at, -1));
  });
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// scores[t, ids[t, j]], 0 where there is no expert.
Value GateBuilder::weightsOf(Value scores, Value ids) {
  return linalg.reduce({t, k, e}, 2, b.getF32FloatAttr(0), {{scores, {0, 2}}, {ids, {0, 1}}}, [](Step &step) -> Value {
    ImplicitLocOpBuilder &at = step.b;
    Value match = arith::CmpIOp::create(at, CmpIPredicate::eq, toIndex(at, step.in[1]), step.index(2));
    return arith::SelectOp::create(at, match, step.in[0], step.acc);
  });
}

/// softmax over the slots that have an expert.
Value GateBuilder::softmaxOfChosen(Value logits, Value ids) {
  Value chosen =
      linalg.map({t, k}, b.getF32Type(), {{weightsOf(logits, ids), {0, 1}}, {ids, {0, 1}}}, [&](Step &step) -> Value {
        return arith::SelectOp::create(step.b, isExpert(step.b, step.in[1]), step.in[0],
                                       constantF32(step.b, -kInfinity));
      });
  return linalg.map({t, k}, b.getF32Type(), {{softmax(chosen), {0, 1}}, {ids, {0, 1}}}, [&](Step &step) -> Value {
    return arith::SelectOp::create(step.b, isExpert(step.b, step.in[1]), step.in[0], constantF32(step.b, 0));
  });
}

Value GateBuilder::sigmoidOfChosen(Value logits, Value ids) {
  Value chosen = weightsOf(logits, ids);
  return linalg.map({t, k}, b.getF32Type(), {{chosen, {0, 1}}, {ids, {0, 1}}}, [&](Step &step) -> Value {
    return arith::SelectOp::create(step.b, isExpert(step.b, step.in[1]), sigmoid(step.b, step.in[0]),
                                   constantF32(step.b, 0));
  });
}

/// 1 / sum of exp(logit - own) over the experts that no earlier slot has and that are not far below the own logit.
Value GateBuilder::sparseMixer(Value logits, Value ids) {
  float threshold = 2 * op.getJitter()->convertToDouble();
  Value own = weightsOf(logits, ids);
  // The first slot of each expert, k without one.
  Value slots = linalg.reduce(
      {t, e, k}, 2, b.getI32IntegerAttr(op.getK()), {{ids, {0, 2}}}, [](Step &step) -> Value {
        ImplicitLocOpBuilder &at = step.b;
        Value same = arith::CmpIOp::create(at, CmpIPredicate::eq, toIndex(at, step.in[0]), step.index(1));
        Value slot = arith::IndexCastOp::create(at, at.getI32Type(), step.index(2));
        return arith::SelectOp::create(at, same, arith::MinSIOp::create(at, slot, step.acc).getResult(), step.acc);
      });
  Value sum = linalg.reduce(
      {t, k, e}, 2, b.getF32FloatAttr(0), {{logits, {0, 2}}, {own, {0, 1}}, {slots, {0, 2}}}, [&](Step &step) -> Value {
        ImplicitLocOpBuilder &at = step.b;
        Value score = step.in[0], mine = step.in[1];
        Value size = arith::MaximumFOp::create(at, math::AbsFOp::create(at, score), mine);
        Value distance = arith::DivFOp::create(at, arith::SubFOp::create(at, mine, score), size);
        Value near = arith::CmpFOp::create(at, CmpFPredicate::ULE, distance, constantF32(at, threshold));
        Value left = arith::CmpIOp::create(at, CmpIPredicate::sge, toIndex(at, step.in[2]), step.index(1));
        Value exp = math::ExpOp::create(at, arith::SubFOp::create(at, score, mine));
        Value next = arith::AddFOp::create(at, step.acc, exp);
        return arith::SelectOp::create(at, arith::AndIOp::create(at, near, left), next, step.acc);
      });
  return linalg.map({t, k}, b.getF32Type(), {{sum, {0, 1}}, {ids, {0, 1}}}, [&](Step &step) -> Value {
    Value weight = arith::DivFOp::create(step.b, constantF32(step.b, 1), step.in[0]);
    return arith::SelectOp::create(step.b, isExpert(step.b, step.in[1]), weight, constantF32(step.b, 0));
  });
}

/// By the score function, 0 where there is no expert.
Value GateBuilder::weigh(Value scores, Value ids) {
  switch (op.getScore()) {
  case Score::SoftmaxAfter:
    return softmaxOfChosen(scores, ids);
  case Score::SigmoidAfter:
    return sigmoidOfChosen(scores, ids);
  case Score::SparseMixer:
    return sparseMixer(scores, ids);
  case Score::Softmax:
  case Score::Sigmoid:
  case Score::SqrtSoftplus:
    return weightsOf(scores, ids);
  }
  llvm_unreachable("all score functions are handled");
}

Value GateBuilder::renormalize(Value weights, Renormalize mode) {
  if (mode == Renormalize::Before && op.getK() == 1)
    return weights;
  double p = op.getP() ? op.getP()->convertToDouble() : 1;
  Value sum = sumOfRow(weights, [&](ImplicitLocOpBuilder &at, Value x) -> Value {
    if (mode != Renormalize::PNorm)
      return x;
    Value size = math::AbsFOp::create(at, x);
    if (p == 2)
      return arith::MulFOp::create(at, size, size);
    return p == 1 ? size : math::PowFOp::create(at, size, constantF32(at, p)).getResult();
  });
  Value divisor = linalg.map({t}, b.getF32Type(), {{sum, {0}}}, [&](Step &step) -> Value {
    ImplicitLocOpBuilder &at = step.b;
    if (mode == Renormalize::Sum) {
      Value divisor = step.in[0];
      if (op.getEps())
        divisor = arith::AddFOp::create(at, divisor, constantF32(at, op.getEps()->convertToDouble()));
      if (op.getLeast())
        divisor = arith::MaximumFOp::create(at, divisor, constantF32(at, op.getLeast()->convertToDouble()));
      return divisor;
    }
    if (mode == Renormalize::PNorm) {
      if (p == 2)
        return math::SqrtOp::create(at, step.in[0]);
      return p == 1 ? step.in[0] : math::PowFOp::create(at, step.in[0], constantF32(at, 1 / p)).getResult();
    }
    return arith::MaximumFOp::create(at, step.in[0], constantF32(at, std::numeric_limits<float>::epsilon()));
  });
  return linalg.map({t, k}, b.getF32Type(), {{weights, {0, 1}}, {divisor, {0}}},
                    [](Step &step) -> Value { return arith::DivFOp::create(step.b, step.in[0], step.in[1]); });
}

//===----------------------------------------------------------------------===//
// All steps
//===----------------------------------------------------------------------===//

std::pair<Value, Value> GateBuilder::build() {
  Value score = scores();
  Value ids = operands.getIds() ? fixedIds() : topK(selectionScores(score));
  Value weights = weigh(score, ids);
  Renormalize mode = op.getRenormalize();
  if (mode != Renormalize::None && mode != Renormalize::After)
    weights = renormalize(weights, mode);
  if (op.getCapacity() && !op.getCapacity()->getFactor().isZero())
    ids = dropBeyondCapacity(b, op, ids);
  auto zeroDropped = [&] {
    weights = linalg.map({t, k}, b.getF32Type(), {{weights, {0, 1}}, {ids, {0, 1}}}, [&](Step &step) -> Value {
      return arith::SelectOp::create(step.b, isExpert(step.b, step.in[1]), step.in[0], constantF32(step.b, 0));
    });
  };
  zeroDropped();
  if (mode == Renormalize::After)
    weights = renormalize(weights, mode);
  if (op.getScale()) {
    float scale = op.getScale()->convertToDouble();
    weights = mapScores(weights, [&](ImplicitLocOpBuilder &at, Value x) -> Value {
      return arith::MulFOp::create(at, x, constantF32(at, scale));
    });
  }
  return {weights, ids};
}

namespace {
struct DenseGate : OpConversionPattern<GateOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(GateOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    LinalgBuilder linalg(b);
    auto [weights, experts] = GateBuilder(op, adaptor, b).build();
    Type element = elementOf(op.getWeights());
    weights = linalg.map(linalg.sizes(weights), element, {{weights, {0, 1}}},
                         [&](Step &step) { return fromF32(step.b, step.in[0], element); });
    rewriter.replaceOp(
        op, {linalg.cast(weights, op.getWeights().getType()), linalg.cast(experts, op.getExperts().getType())});
    return success();
  }
};
} // namespace

void moe::populateDenseGatePatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<DenseGate>(converter, patterns.getContext());
}
