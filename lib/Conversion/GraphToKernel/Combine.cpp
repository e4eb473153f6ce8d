//===- Combine.cpp - moe.combine: the weighted sum of each token's rows -----------------------------------------===//
//
// f32, in slot order, rounded once: the result does not depend on how work was split. Columns come in chunks, so that
// one token still gives every block some work.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Layout.h"

using namespace mlir;
using namespace mlir::kernel;

/// Up to this many slots the sum is unrolled over them, inside a loop over columns that vectorises.
static constexpr int64_t maxUnrolledSlots = 16;
static constexpr int64_t columnsPerChunk = 512;

namespace {
struct CombineLowering : GraphPattern<moe::CombineOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(moe::CombineOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value rows = adaptor.getRows()[0], places = LayoutBuffers(adaptor.getLayout()).places;
    Value weights = adaptor.getWeights().empty() ? Value() : adaptor.getWeights()[0];
    OpFoldResult tokens = sizeOf(rewriter, loc, places, 0), width = sizeOf(rewriter, loc, rows, 1);
    Epilogue epilogue(lowering, op, rewriter);
    Value result = epilogue.allocateResult(memrefOf(op.getResult()), {tokens, width});
    Value matrix = asMatrix(rewriter, loc, result);
    int64_t k = weights ? cast<MemRefType>(weights.getType()).getDimSize(1) : ShapedType::kDynamic;

    KernelBuilder b(lowering.kernels, loc);
    Value y = b.arg(rows), place = b.arg(places), w = weights ? b.arg(weights) : Value(), out = b.arg(matrix);
    epilogue.capture(b);
    b.forall({b.dim(place, 0), b.ceilDiv(b.dim(out, 1), columnsPerChunk)}, [&](ValueRange at) {
      Value first = b.mul(at[1], b.idx(columnsPerChunk));
      Value end = b.min(b.dim(out, 1), b.add(first, b.idx(columnsPerChunk)));
      auto store = [&](Value sum, Value h) {
        Value v = epilogue.apply(b, sum, at[0], h);
        b.store(b.convert(v, getElementTypeOrSelf(out)), out, {at[0], h});
      };
      if (k != ShapedType::kDynamic && k <= maxUnrolledSlots) {
        SmallVector<Slot> slots;
        for (int64_t j = 0; j < k; ++j)
          slots.push_back(slot(b, place, w, at[0], b.idx(j)));
        b.loop(first, end, 1, [&](Value h) {
          Value sum = b.f32(0.0);
          for (const Slot &slot : slots)
            sum = accumulate(b, sum, slot, y, h);
          store(sum, h);
        });
      } else {
        b.loop(first, end, 1, [&](Value h) {
          Value sum = b.loop(b.idx(0), b.dim(place, 1), 1, b.f32(0.0), [&](Value j, ValueRange acc) {
            return SmallVector<Value>{accumulate(b, acc[0], slot(b, place, w, at[0], j), y, h)};
          })[0];
          store(sum, h);
        });
      }
    });
    auto type = cast<MemRefType>(matrix.getType());
    std::string name = "combine_" + shapeName(type.getShape().take_back()) + "_" + typeName(type.getElementType());
    if (k != ShapedType::kDynamic)
      name += "_top" + std::to_string(k);
    b.launch(rewriter, name + epilogue.name(), tokens,
             mulSizes(rewriter, loc, {tokens, width, sizeOf(rewriter, loc, places, 1), rewriter.getIndexAttr(2)}));
    rewriter.replaceOp(op, epilogue.replacement(result, memrefOf(op.getResult()), {tokens, width}));
    return success();
  }

private:
  struct Slot {
    Value row, exists, weight;
  };

  static Slot slot(KernelBuilder &b, Value place, Value weights, Value token, Value j) {
    Value row = b.toIndex(b.load(place, {token, j}));
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, row, b.idx(0));
    return {b.max(row, b.idx(0)), exists, weights ? b.toF32(b.load(weights, {token, j})) : Value()};
  }

  /// Slots without a row read row 0 and add nothing, whatever stands there.
  static Value accumulate(KernelBuilder &b, Value sum, const Slot &slot, Value rows, Value h) {
    Value v = b.toF32(b.load(rows, {slot.row, h}));
    if (slot.weight)
      v = arith::MulFOp::create(b, v, slot.weight);
    v = arith::SelectOp::create(b, slot.exists, v, b.f32(0.0));
    return arith::AddFOp::create(b, sum, v);
  }
};
} // namespace

void mlir::kernel::populateCombinePatterns(const TypeConverter &converter, GraphLowering &lowering,
                                           RewritePatternSet &patterns) {
  patterns.add<CombineLowering>(converter, lowering);
}
