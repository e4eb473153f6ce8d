//===- Combine.cpp - moe.combine: the weighted sum of each token's rows -----------------------------------------===//
//
// f32, in one order, rounded once: the result does not depend on how work was split. Columns come in chunks, so that
// one token still gives every block some work. A tree adds the slots of each range of groups, and then the ranges; rows
// stand by group, so a slot's range shows in its row.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Overlap.h"
#include "PassLoop.h"
#include "SlotSums.h"

using namespace mlir;
using namespace mlir::kernel;

static constexpr int64_t columnsPerChunk = 512;

namespace {
struct CombineLowering : GraphPattern<moe::CombineOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(moe::CombineOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    const PassLoop *pass = enterPasses(lowering, op, rewriter);
    if (Value given = sumsOnTheirWay(lowering, rewriter, op)) {
      rewriter.replaceOp(op, given);
      return success();
    }
    LayoutBuffers layout(adaptor.getLayout());
    Value rows = adaptor.getRows()[0], places = layout.places;
    Value weights = adaptor.getWeights().empty() ? Value() : adaptor.getWeights()[0];
    OpFoldResult summed = sizeOf(rewriter, loc, places, 0), width = sizeOf(rewriter, loc, rows, 1), tokens = summed;
    // What passes begin with is what they end with: sums of all tokens, in a buffer that all of them fill.
    const bool isLast = pass && lowering.passes.lookup(op)->sum == op;
    if (isLast)
      tokens = sizeOf(rewriter, loc, rewriter.getRemappedValue(lowering.passes.lookup(op)->to.getTokens()), 0);
    Epilogue epilogue(lowering, op, rewriter);
    Value result = epilogue.allocateResult(memrefOf(op.getResult()), {tokens, width});
    Value matrix = asMatrix(rewriter, loc, result);

    KernelBuilder b(lowering.kernels, loc);
    SlotSums sums(b, op, layout, rows, weights);
    Value out = b.arg(matrix);
    epilogue.capture(b);
    b.forall({sums.tokens(), b.ceilDiv(b.dim(out, 1), columnsPerChunk)}, [&](ValueRange at) {
      Value first = b.mul(at[1], b.idx(columnsPerChunk));
      Value end = b.min(b.dim(out, 1), b.add(first, b.idx(columnsPerChunk)));
      Value row = isLast ? b.add(b.arg(pass->first), at[0]) : at[0];
      auto addUp = [&] {
        sums.forColumns(at[0], first, end, [&](Value sum, Value h) {
          Value v = epilogue.apply(b, sum, row, h);
          b.store(b.convert(v, getElementTypeOrSelf(out)), out, {row, h});
        });
      };
      if (isLast)
        b.branch(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, b.dim(out, 0)), addUp);
      else
        addUp();
    });
    auto type = cast<MemRefType>(matrix.getType());
    std::string name =
        "combine_" + shapeName(type.getShape().take_back()) + "_" + typeName(type.getElementType()) + sums.name();
    b.launch(rewriter, name + (isLast ? "_of_pass" : "") + epilogue.name(), summed,
             mulSizes(rewriter, loc, {summed, width, sizeOf(rewriter, loc, places, 1), rewriter.getIndexAttr(2)}));
    rewriter.replaceOp(op, epilogue.replacement(result, memrefOf(op.getResult()), {tokens, width}));
    return success();
  }
};
} // namespace

void mlir::kernel::populateCombinePatterns(const TypeConverter &converter, GraphLowering &lowering,
                                           RewritePatternSet &patterns) {
  patterns.add<CombineLowering>(converter, lowering);
}
