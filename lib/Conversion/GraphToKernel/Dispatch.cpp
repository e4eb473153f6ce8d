//===- Dispatch.cpp - moe.dispatch: where each pair goes --------------------------------------------------------===//
//
// The layout is two launches (Layout.cpp), of which the first is a part of the gate. Token rows are moved here if they
// are placed `gathered`; otherwise experts read them through the token list, or gather them for themselves
// (Experts.cpp).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Layout.h"

using namespace mlir;
using namespace mlir::kernel;

/// The layer's name in reports: where its weights stand in the model.
static std::string layerName(moe::DispatchOp op) {
  for (Operation *user : op.getLayout().getUsers())
    if (auto expert = dyn_cast<moe::ExpertOp>(user))
      if (auto weight = expert.getWIn().getDefiningOp<moe::ParameterOp>()) {
        StringRef key = cast<StringAttr>(weight.getSources()[0]).getValue();
        if (size_t end = key.find(".experts"); end != StringRef::npos)
          return key.take_front(end).str();
        return key.rsplit('.').first.str();
      }
  return "moe";
}

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
    Value tokens = adaptor.getTokens()[0], experts = adaptor.getExperts()[0];
    OpFoldResult t = sizeOf(rewriter, loc, experts, 0), k = sizeOf(rewriter, loc, experts, 1);
    OpFoldResult pairs = mulSizes(rewriter, loc, {t, k});
    auto layout = LayoutBuffers::allocate(rewriter, loc, op.getLayout().getType(), t, k);
    std::optional<PairCounts> counts;
    auto known = lowering.pairCounts.find(op.getExperts());
    if (known != lowering.pairCounts.end() &&
        op.getExperts().getDefiningOp<moe::GateOp>().getNumExperts() == static_cast<int64_t>(op.getNumExperts()))
      counts = {known->second.first, known->second.second};
    LaunchOp launch = emitLayout(lowering, rewriter, loc, experts, layout, counts, op.getNumExperts());
    launch->setAttr("moe.expert_load",
                    rewriter.getDictionaryAttr({rewriter.getNamedAttr("layer", rewriter.getStringAttr(layerName(op))),
                                                rewriter.getNamedAttr("offsets", rewriter.getI64IntegerAttr(1))}));

    Value rows = allocate(rewriter, loc, memrefOf(op.getRows()), {pairs, sizeOf(rewriter, loc, tokens, 1)});
    if (placementOf(op) == moe::Placement::Gathered)
      emitGather(lowering, rewriter, loc, tokens, adaptor.getWeights().empty() ? Value() : adaptor.getWeights()[0],
                 layout.places, rows);
    rewriter.replaceOpWithMultiple(op, {ValueRange(rows), layout.values()});
    return success();
  }
};
} // namespace

void mlir::kernel::populateDispatchPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                            RewritePatternSet &patterns) {
  patterns.add<DispatchLowering>(converter, lowering);
}
