//===- Dispatch.cpp - moe.dispatch: where each pair goes --------------------------------------------------------===//
//
// The layout is two launches (Layout.cpp), of which the first is a part of the gate. Token rows are moved here if they
// are placed `gathered`; otherwise experts read them through the token list, or gather them for themselves
// (Experts.cpp).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Exchange.h"
#include "PassLoop.h"

using namespace mlir;
using namespace mlir::kernel;

void mlir::kernel::emitGather(GraphLowering &lowering, OpBuilder &host, Location loc, Value tokens, Value weights,
                              Value places, Value rows) {
  KernelBuilder b(lowering.kernels, loc);
  Value x = b.arg(tokens), w = weights ? b.arg(weights) : Value(), place = b.arg(places), y = b.arg(rows);
  Type element = getElementTypeOrSelf(y);
  b.forall({b.dim(place, 0), b.dim(place, 1)}, [&](ValueRange pair) {
    Value row = b.toIndex(b.load(place, pair));
    b.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, row, b.idx(0)), [&] {
      Value weight = w ? b.toF32(b.load(w, pair)) : Value();
      b.loop(b.idx(0), b.dim(x, 1), 1, [&](Value h) {
        Value v = b.load(x, {pair[0], h});
        if (weight)
          v = arith::MulFOp::create(b, b.toF32(v), weight);
        b.store(b.convert(v, element), y, {row, h});
      });
    });
  });
  OpFoldResult pairs = sizeOf(host, loc, rows, 0), width = sizeOf(host, loc, tokens, 1);
  b.launch(host,
           "gather_" + shapeName(cast<MemRefType>(tokens.getType()).getShape().take_back()) + "_" + typeName(element) +
               (w ? "_weighted" : ""),
           pairs, mulSizes(host, loc, {pairs, width}));
}

namespace {
struct DispatchLowering : GraphPattern<moe::DispatchOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(moe::DispatchOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const PassLoop *pass = enterPasses(lowering, op, rewriter);
    Value tokens = adaptor.getTokens()[0], groups = adaptor.getExperts()[0];
    int64_t count = op.getNumExperts();
    if (std::optional<StringRef> grid = op.getTo()) {
      Ranks ranks(rewriter, loc, lowering.module, *grid);
      std::optional<Ranks> node;
      if (op.getAt())
        node.emplace(rewriter, loc, lowering.module, *op.getAt());
      groups = emitOwners(lowering, rewriter, loc, ranks, groups, Experts(op), pass, node ? &*node : nullptr);
      count = ranks.count;
    } else if (std::optional<StringRef> grid = op.getAt()) {
      Ranks ranks(rewriter, loc, lowering.module, *grid);
      count /= ranks.count;
      auto there = op.getExperts().getDefiningOp<moe::AllToAllOp>();
      std::shared_ptr<RowExchange> exchange =
          there && goToExperts(op.getExperts()) ? lowering.exchanges.lookup(there) : nullptr;
      groups = emitOwnExperts(lowering, rewriter, loc, ranks.own, count, groups, Experts(op), exchange.get());
    } else if (op.getOrder()) {
      Value first = arith::ConstantIndexOp::create(rewriter, loc, 0);
      groups = emitOwnExperts(lowering, rewriter, loc, first, count, groups, Experts(op));
    }
    OpFoldResult t = sizeOf(rewriter, loc, groups, 0), k = sizeOf(rewriter, loc, groups, 1);
    OpFoldResult pairs = mulSizes(rewriter, loc, {t, k});
    auto layout = LayoutBuffers::allocate(rewriter, loc, op.getLayout().getType(), t, k);
    LaunchOp launch = emitLayout(lowering, rewriter, loc, groups, layout, countsOf(op), count);
    if (!op.getTo())
      launch->setAttr("moe.expert_load", rewriter.getDictionaryAttr(
                                             {rewriter.getNamedAttr("layer", rewriter.getStringAttr(layerName(op))),
                                              rewriter.getNamedAttr("offsets", rewriter.getI64IntegerAttr(1))}));

    Value rows = allocate(rewriter, loc, memrefOf(op.getRows()), {pairs, sizeOf(rewriter, loc, tokens, 1)});
    if (!op.getTo() && placementOf(op) == moe::Placement::Gathered)
      emitGather(lowering, rewriter, loc, tokens, adaptor.getWeights().empty() ? Value() : adaptor.getWeights()[0],
                 layout.places, rows);
    rewriter.replaceOpWithMultiple(op, {ValueRange(rows), layout.values()});
    return success();
  }

private:
  /// What the gate counted, if it chose among the same groups.
  std::optional<PairCounts> countsOf(moe::DispatchOp op) const {
    auto known = lowering.pairCounts.find(op.getExperts());
    if (known == lowering.pairCounts.end() || op.getTo() || op.getAt() || op.getOrder() ||
        op.getExperts().getDefiningOp<moe::GateOp>().getNumExperts() != static_cast<int64_t>(op.getNumExperts()))
      return std::nullopt;
    return PairCounts{known->second.first, known->second.second};
  }
};
} // namespace

void mlir::kernel::populateDispatchPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                            RewritePatternSet &patterns) {
  patterns.add<DispatchLowering>(converter, lowering);
}
