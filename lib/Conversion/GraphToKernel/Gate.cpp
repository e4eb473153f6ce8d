//===- Gate.cpp - moe.gate: scores, choice, weights, capacity ---------------------------------------------------===//
//
// The gate is a row program: each block scores its tokens, chooses and weighs; where a layout follows, it also counts
// the pairs of its chunk of tokens. A capacity needs the location of each pair among all tokens, so two more kernels
// find it, and drop, finish and count (GateDrop.cpp).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "GateProgram.h"

using namespace mlir;
using namespace mlir::kernel;

Value GateProgram::reduce(KernelBuilder &b, Value upper, double init, llvm::function_ref<Value(Value, Value)> body) {
  return b.loop(b.idx(0), upper, 1, b.f32(init),
                [&](Value i, ValueRange acc) { return SmallVector<Value>{body(i, acc[0])}; })[0];
}

Value GateProgram::isExpert(KernelBuilder &b, Value id) {
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, id, zero);
}

std::optional<PairCounts> GateProgram::countsForLayout() {
  bool wanted = llvm::any_of(op.getExperts().getUsers(), [&](Operation *user) {
    auto dispatch = dyn_cast<moe::DispatchOp>(user);
    return dispatch && dispatch.getExperts() == op.getExperts() && !dispatch.getOrder() &&
           int64_t(dispatch.getNumExperts()) == numExperts;
  });
  if (!wanted)
    return std::nullopt;
  PairCounts counts =
      allocateCounts(rewriter, op.getLoc(), lowering.routing, tokens, rewriter.getIndexAttr(k), numExperts);
  lowering.pairCounts[op.getExperts()] = {counts.ranks, counts.counts};
  return counts;
}

void GateProgram::forTokens(KernelBuilder &b, llvm::function_ref<void(Value)> body) {
  std::optional<PairCounts> counts = countsForLayout();
  if (!counts) {
    b.forall({b.dim(experts, 0)}, [&](ValueRange row) { body(row[0]); });
    return;
  }
  PairCounts own{b.arg(counts->ranks), b.arg(counts->counts)};
  TokenChunks chunks(b, lowering.routing, b.dim(experts, 0));
  b.forall({chunks.count()}, [&](ValueRange chunk) {
    Value first = chunks.first(b, chunk[0]), end = chunks.end(b, first);
    b.parallel(first, end, body);
    emitCounts(b, experts, own, numExperts, chunk[0], first, end);
  });
}

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
  auto choosePairs = [&](Value t) {
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
  };
  if (hasCapacity())
    b.forall({b.dim(logits, 0)}, [&](ValueRange row) { choosePairs(row[0]); });
  else
    forTokens(b, choosePairs);
  b.launch(rewriter, "gate_" + Twine(numExperts) + "_top" + Twine(k) + "_" + moe::stringifyScore(op.getScore()), tokens,
           mulSizes(rewriter, loc, {tokens, e, rewriter.getIndexAttr(8)}));
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
