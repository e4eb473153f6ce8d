//===- Gate.cpp - moe.gate: scores, choice, weights, capacity ---------------------------------------------------===//
//
// The gate is a row program: each block scores its tokens, chooses and weighs. A capacity needs the location of each
// pair among all tokens, so a second kernel, of one block, walks the pairs in slot-major order and finishes the
// weights.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

namespace {
class GateProgram {
public:
  GateProgram(GraphLowering &lowering, moe::GateOp op, moe::GateOp::Adaptor adaptor,
              ConversionPatternRewriter &rewriter, Value weights, Value experts)
      : lowering(lowering), op(op), adaptor(adaptor), rewriter(rewriter), weightsBuffer(weights),
        expertsBuffer(experts), numExperts(op.getNumExperts()), k(op.getK()), f32(rewriter.getF32Type()) {}

  void emit();

private:
  void emitRows();
  void emitDrop();
  void score(KernelBuilder &b, Value t);
  void maskGroups(KernelBuilder &b, Value t);
  void choose(KernelBuilder &b, Value t);
  void takeGiven(KernelBuilder &b, Value t);
  void weigh(KernelBuilder &b, Value t);
  void renormalize(KernelBuilder &b, Value t);
  void finish(KernelBuilder &b, Value t);

  /// The value that the choice ranks: score plus bias; NaN ranks first, so that it is seen in the result.
  Value choiceOf(KernelBuilder &b, Value t, Value e);
  Value isExpert(KernelBuilder &b, Value id);
  Value reduce(KernelBuilder &b, Value upper, double init, llvm::function_ref<Value(Value, Value)> body);

  bool hasCapacity() { return op.getCapacity() && !op.getCapacity()->getFactor().isZero(); }
  Value cmp(KernelBuilder &b, arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, predicate, x, y);
  }

  GraphLowering &lowering;
  moe::GateOp op;
  moe::GateOp::Adaptor adaptor;
  ConversionPatternRewriter &rewriter;
  Value weightsBuffer, expertsBuffer, listBuffer;
  int64_t numExperts, k;
  Type f32;
  OpFoldResult tokens;

  // Inside the kernel under construction.
  Value logits, bias, ids, scores, choices, groupScores, list, weights, experts;
};
} // namespace

Value GateProgram::reduce(KernelBuilder &b, Value upper, double init, llvm::function_ref<Value(Value, Value)> body) {
  return b.loop(b.idx(0), upper, 1, b.f32(init),
                [&](Value i, ValueRange acc) { return SmallVector<Value>{body(i, acc[0])}; })[0];
}

Value GateProgram::isExpert(KernelBuilder &b, Value id) {
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, id, zero);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

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
    return map([](Value x) { return x; });
  case moe::Score::Sigmoid:
    return map([&](Value x) -> Value {
      Value one = b.f32(1.0);
      return arith::DivFOp::create(b, one,
                                   arith::AddFOp::create(b, one, math::ExpOp::create(b, arith::NegFOp::create(b, x))));
    });
  case moe::Score::SqrtSoftplus:
    // log(1 + e^x) = max(x, 0) + log1p(e^-|x|), without overflow
    return map([&](Value x) -> Value {
      Value tail =
          math::Log1pOp::create(b, math::ExpOp::create(b, arith::NegFOp::create(b, math::AbsFOp::create(b, x))));
      return math::SqrtOp::create(b, arith::AddFOp::create(b, arith::MaximumFOp::create(b, x, b.f32(0.0)), tail));
    });
  }
}

Value GateProgram::choiceOf(KernelBuilder &b, Value t, Value e) {
  Value value = b.load(scores, {t, e});
  if (bias)
    value = arith::AddFOp::create(b, value, b.toF32(b.load(bias, e)));
  Value isNan = cmp(b, arith::CmpFPredicate::UNO, value, value);
  return arith::SelectOp::create(b, isNan, b.f32(std::numeric_limits<double>::infinity()), value);
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void GateProgram::emitRows() {
  Location loc = op.getLoc();
  OpFoldResult e = rewriter.getIndexAttr(numExperts);
  KernelBuilder b(lowering.kernels, loc);
  logits = b.arg(adaptor.getLogits());
  bias = adaptor.getBias() ? b.arg(adaptor.getBias()) : Value();
  ids = adaptor.getIds() ? b.arg(adaptor.getIds()) : Value();
  scores = b.arg(allocate(rewriter, loc, f32, {tokens, e}));
  if (op.getGroups() && !ids) {
    choices = b.arg(allocate(rewriter, loc, f32, {tokens, e}));
    groupScores = b.arg(allocate(rewriter, loc, f32, {tokens, rewriter.getIndexAttr(op.getGroups()->getCount())}));
  }
  list = b.arg(listBuffer);
  experts = b.arg(expertsBuffer);
  if (!hasCapacity())
    weights = b.arg(weightsBuffer);
  b.forall({b.dim(logits, 0)}, [&](ValueRange row) {
    Value t = row[0];
    score(b, t);
    if (ids) {
      takeGiven(b, t);
    } else {
      if (op.getGroups())
        maskGroups(b, t);
      choose(b, t);
    }
    weigh(b, t);
    renormalize(b, t);
    if (!hasCapacity())
      finish(b, t);
  });
  b.launch(rewriter, "gate_" + Twine(numExperts) + "_top" + Twine(k) + "_" + moe::stringifyScore(op.getScore()), tokens,
           mulSizes(rewriter, loc, {tokens, e, rewriter.getIndexAttr(8)}));
}

void GateProgram::emitDrop() {
  Location loc = op.getLoc();
  KernelBuilder b(lowering.kernels, loc);
  list = b.arg(listBuffer);
  experts = b.arg(expertsBuffer);
  weights = b.arg(weightsBuffer);
  Value counts = b.arg(allocate(rewriter, loc, rewriter.getI32Type(), {rewriter.getIndexAttr(numExperts)}));
  Value t = b.dim(experts, 0), limit = emitCapacity(b, op, t);
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value one = arith::ConstantOp::create(b, b.getI32IntegerAttr(1));
  Value none = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
  b.loop(b.idx(0), b.idx(numExperts), 1, [&](Value e) { b.store(zero, counts, e); });
  // All first choices come before any second choice.
  b.loop(b.idx(0), b.idx(k), 1, [&](Value j) {
    b.loop(b.idx(0), t, 1, [&](Value row) {
      Value id = b.load(experts, {row, j});
      b.branch(isExpert(b, id), [&] {
        Value e = b.toIndex(id), location = b.load(counts, e);
        b.store(arith::AddIOp::create(b, location, one), counts, e);
        b.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, location, limit),
                 [&] { b.store(none, experts, {row, j}); });
      });
    });
  });
  b.loop(b.idx(0), t, 1, [&](Value row) { finish(b, row); });
  b.launch(rewriter, "capacity_" + Twine(numExperts) + "_top" + Twine(k), tokens,
           mulSizes(rewriter, loc, {tokens, rewriter.getIndexAttr(k)}), /*single=*/true);
}

void GateProgram::emit() {
  tokens = sizeOf(rewriter, op.getLoc(), adaptor.getLogits(), 0);
  listBuffer = allocate(rewriter, op.getLoc(), f32, {tokens, rewriter.getIndexAttr(k)});
  emitRows();
  if (hasCapacity())
    emitDrop();
}

namespace {
struct GateLowering : GraphPattern<moe::GateOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(moe::GateOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    SmallVector<OpFoldResult> sizes = {sizeOf(rewriter, op.getLoc(), adaptor.getLogits(), 0),
                                       rewriter.getIndexAttr(op.getK())};
    Value weights = allocate(rewriter, op.getLoc(), memrefOf(op.getWeights()), sizes);
    Value experts = allocate(rewriter, op.getLoc(), memrefOf(op.getExperts()), sizes);
    GateProgram(lowering, op, adaptor, rewriter, weights, experts).emit();
    rewriter.replaceOp(op, {weights, experts});
    return success();
  }
};
} // namespace

void mlir::kernel::populateGatePatterns(const TypeConverter &converter, GraphLowering &lowering,
                                        RewritePatternSet &patterns) {
  patterns.add<GateLowering>(converter, lowering);
}
