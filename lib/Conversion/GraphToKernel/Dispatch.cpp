//===- Dispatch.cpp - moe.dispatch: where each pair goes --------------------------------------------------------===//
//
// One block sorts the pairs by expert (counts, prefix sums, places: O(T.k + E)). Token rows are not moved: the experts'
// programs read them through the token list. Only when something else wants the rows, or they carry their weights,
// a kernel gathers them.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::kernel;

bool mlir::kernel::isVirtualDispatch(moe::DispatchOp op) {
  return !op.getWeights() && llvm::all_of(op.getRows().getUses(), [&](OpOperand &use) {
    auto expert = dyn_cast<moe::ExpertOp>(use.getOwner());
    return expert && expert.getRows() == use.get() && expert.getLayout() == op.getLayout();
  });
}

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

namespace {
struct DispatchLowering : GraphPattern<moe::DispatchOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(moe::DispatchOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value tokens = adaptor.getTokens()[0], experts = adaptor.getExperts()[0];
    OpFoldResult t = sizeOf(rewriter, loc, experts, 0), k = sizeOf(rewriter, loc, experts, 1);
    OpFoldResult pairs = mulSizes(rewriter, loc, {t, k});
    SmallVector<Type> types;
    (void)getTypeConverter()->convertType(op.getLayout().getType(), types);
    SmallVector<Value> layout;
    for (auto [i, type] : llvm::enumerate(types)) {
      SmallVector<OpFoldResult> sizes;
      if (i == 1)
        sizes = {pairs};
      else if (i == 2)
        sizes = {t, k};
      layout.push_back(allocate(rewriter, loc, cast<MemRefType>(type), sizes));
    }
    emitLayout(op, experts, layout, pairs, rewriter);

    Value rows = allocate(rewriter, loc, memrefOf(op.getRows()), {pairs, sizeOf(rewriter, loc, tokens, 1)});
    if (!isVirtualDispatch(op))
      emitGather(op, tokens, adaptor.getWeights().empty() ? Value() : adaptor.getWeights()[0], layout[2], rows,
                 rewriter);
    rewriter.replaceOpWithMultiple(op, {ValueRange(rows), ValueRange(layout)});
    return success();
  }

private:
  void emitLayout(moe::DispatchOp op, Value experts, ArrayRef<Value> layout, OpFoldResult pairs,
                  ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
    int64_t numExperts = op.getNumExperts();
    Value cursorBuffer = allocate(rewriter, loc, rewriter.getI32Type(), {rewriter.getIndexAttr(numExperts)});
    KernelBuilder b(lowering.kernels, loc);
    Value ids = b.arg(experts), offsets = b.arg(layout[0]), tokens = b.arg(layout[1]), places = b.arg(layout[2]);
    Value records = b.arg(layout[3]), count = b.arg(layout[4]), cursors = b.arg(cursorBuffer);
    Value n = b.idx(numExperts), t = b.dim(ids, 0), k = b.dim(ids, 1);
    auto i32 = [&](int64_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)).getResult(); };
    Value zero = i32(0), one = i32(1), none = i32(-1);
    auto isExpert = [&](Value id) {
      Value limit = arith::ConstantOp::create(b, b.getIntegerAttr(id.getType(), numExperts));
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, id, limit).getResult();
    };
    auto forPairs = [&](llvm::function_ref<void(Value, Value)> body) {
      b.loop(b.idx(0), t, 1, [&](Value row) { b.loop(b.idx(0), k, 1, [&](Value j) { body(row, j); }); });
    };

    b.loop(b.idx(0), n, 1, [&](Value e) { b.store(zero, cursors, e); });
    forPairs([&](Value row, Value j) {
      Value id = b.load(ids, {row, j});
      b.branch(isExpert(id), [&] {
        Value e = b.toIndex(id);
        b.store(arith::AddIOp::create(b, b.load(cursors, e), one), cursors, e);
      });
    });
    // Counts become first rows; every expert with rows gets a tile record.
    SmallVector<Value> totals = b.loop(b.idx(0), n, 1, {zero, zero}, [&](Value e, ValueRange acc) {
      Value rows = b.load(cursors, e), filled = acc[1];
      b.store(acc[0], offsets, e);
      b.store(acc[0], cursors, e);
      Value some = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rows, zero);
      b.branch(some, [&] {
        Value record = b.toIndex(filled);
        for (auto [field, value] : llvm::enumerate(ArrayRef<Value>{b.toI32(e), acc[0], rows, zero, zero}))
          b.store(value, records, {record, b.idx(field)});
      });
      return SmallVector<Value>{arith::AddIOp::create(b, acc[0], rows),
                                arith::AddIOp::create(b, filled, arith::SelectOp::create(b, some, one, zero))};
    });
    b.store(totals[0], offsets, n);
    b.store(totals[1], count, b.idx(0));
    forPairs([&](Value row, Value j) {
      Value id = b.load(ids, {row, j});
      b.branch(
          isExpert(id),
          [&] {
            Value e = b.toIndex(id), place = b.load(cursors, e);
            b.store(arith::AddIOp::create(b, place, one), cursors, e);
            b.store(b.toI32(row), tokens, b.toIndex(place));
            b.store(place, places, {row, j});
          },
          [&] { b.store(none, places, {row, j}); });
    });
    LaunchOp launch = b.launch(rewriter, "layout_" + Twine(numExperts), sizeOf(rewriter, loc, experts, 0),
                               addSizes(rewriter, loc, pairs, rewriter.getIndexAttr(numExperts)), /*single=*/true);
    launch->setAttr("moe.expert_load",
                    rewriter.getDictionaryAttr({rewriter.getNamedAttr("layer", rewriter.getStringAttr(layerName(op))),
                                                rewriter.getNamedAttr("offsets", rewriter.getI64IntegerAttr(1))}));
  }

  void emitGather(moe::DispatchOp op, Value tokens, Value weights, Value places, Value rows,
                  ConversionPatternRewriter &rewriter) const {
    Location loc = op.getLoc();
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
    OpFoldResult pairs = sizeOf(rewriter, loc, rows, 0), width = sizeOf(rewriter, loc, rows, 1);
    b.launch(rewriter,
             "gather_" + shapeName(cast<MemRefType>(rows.getType()).getShape().take_back()) + "_" + typeName(element) +
                 (w ? "_weighted" : ""),
             pairs, mulSizes(rewriter, loc, {pairs, width}));
  }
};
} // namespace

void mlir::kernel::populateDispatchPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                            RewritePatternSet &patterns) {
  patterns.add<DispatchLowering>(converter, lowering);
}
