//===- Combine.cpp - moe.combine: the weighted sum of each token's rows -----------------------------------------===//
//
// f32, in one order, rounded once: the result does not depend on how work was split. Columns come in chunks, so that
// one token still gives every block some work. A tree adds the slots of each range of groups, and then the ranges; rows
// stand by group, so a slot's range shows in its row.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Exchange.h"

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
    LayoutBuffers layout(adaptor.getLayout());
    Value rows = adaptor.getRows()[0], places = layout.places;
    Value weights = adaptor.getWeights().empty() ? Value() : adaptor.getWeights()[0];
    OpFoldResult tokens = sizeOf(rewriter, loc, places, 0), width = sizeOf(rewriter, loc, rows, 1);
    Epilogue epilogue(lowering, op, rewriter);
    Value result = epilogue.allocateResult(memrefOf(op.getResult()), {tokens, width});
    Value matrix = asMatrix(rewriter, loc, result);
    int64_t k = weights ? cast<MemRefType>(weights.getType()).getDimSize(1) : slotsOf(op);

    KernelBuilder b(lowering.kernels, loc);
    Value y = b.arg(rows), place = b.arg(places), w = weights ? b.arg(weights) : Value(), out = b.arg(matrix);
    epilogue.capture(b);
    SmallVector<Range> ranges = rangesOf(b, op, layout);
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
          slots.push_back(slot(b, place, w, at[0], b.idx(j), ranges));
        b.loop(first, end, 1, [&](Value h) {
          SmallVector<Value> sums = zeros(b, ranges.size());
          for (const Slot &slot : slots)
            sums = accumulate(b, sums, slot, y, h);
          store(addPairwise(b, sums), h);
        });
      } else {
        b.loop(first, end, 1, [&](Value h) {
          SmallVector<Value> sums =
              b.loop(b.idx(0), b.dim(place, 1), 1, zeros(b, ranges.size()), [&](Value j, ValueRange before) {
                return accumulate(b, before, slot(b, place, w, at[0], j, ranges), y, h);
              });
          store(addPairwise(b, sums), h);
        });
      }
    });
    auto type = cast<MemRefType>(matrix.getType());
    std::string name = "combine_" + shapeName(type.getShape().take_back()) + "_" + typeName(type.getElementType());
    if (k != ShapedType::kDynamic)
      name += "_top" + std::to_string(k);
    if (ranges.size() > 1)
      name += "_tree" + std::to_string(ranges.size());
    b.launch(rewriter, name + epilogue.name(), tokens,
             mulSizes(rewriter, loc, {tokens, width, sizeOf(rewriter, loc, places, 1), rewriter.getIndexAttr(2)}));
    rewriter.replaceOp(op, epilogue.replacement(result, memrefOf(op.getResult()), {tokens, width}));
    return success();
  }

private:
  /// A layout over ranks has a slot for each of them.
  static int64_t slotsOf(moe::CombineOp op) {
    Operation *source = op.getLayout().getDefiningOp();
    auto dispatch = dyn_cast_if_present<moe::DispatchOp>(source);
    bool isOfRanks = dispatch ? dispatch.getTo().has_value() : isa_and_present<moe::AllToAllOp>(source);
    return isOfRanks ? op.getLayout().getType().getExperts() : ShapedType::kDynamic;
  }

  /// Rows [begin, end) of groups that are added by themselves; without bounds all rows.
  struct Range {
    Value begin, end;
  };

  struct Slot {
    Value row, weight;
    SmallVector<Value> counts; ///< by range: whether the slot has a row in it
  };

  /// The ranges of a tree, otherwise one of all rows.
  static SmallVector<Range> rangesOf(KernelBuilder &b, moe::CombineOp op, const LayoutBuffers &layout) {
    int64_t count = op.getSum() ? op.getSum()->getGroups() : 1;
    if (count == 1)
      return {Range()};
    Value offsets = b.arg(layout.offsets);
    int64_t each = op.getLayout().getType().getExperts() / count;
    SmallVector<Value> bounds;
    for (int64_t i = 0; i <= count; ++i)
      bounds.push_back(b.toIndex(b.load(offsets, b.idx(i * each))));
    SmallVector<Range> ranges;
    for (int64_t i = 0; i < count; ++i)
      ranges.push_back({bounds[i], bounds[i + 1]});
    return ranges;
  }

  static Slot slot(KernelBuilder &b, Value place, Value weights, Value token, Value j, ArrayRef<Range> ranges) {
    Value row = b.toIndex(b.load(place, {token, j}));
    Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, row, b.idx(0));
    Slot result{b.max(row, b.idx(0)), weights ? b.toF32(b.load(weights, {token, j})) : Value(), {}};
    for (const Range &range : ranges)
      result.counts.push_back(range.begin ? isInside(b, row, range) : exists);
    return result;
  }

  /// A row of -1 is in no range.
  static Value isInside(KernelBuilder &b, Value row, const Range &range) {
    Value from = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, row, range.begin);
    return arith::AndIOp::create(b, from, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, range.end));
  }

  static SmallVector<Value> zeros(KernelBuilder &b, size_t count) {
    SmallVector<Value> values;
    for (size_t i = 0; i < count; ++i)
      values.push_back(b.f32(0.0));
    return values;
  }

  /// Slots without a row read row 0 and add nothing, whatever stands there.
  static SmallVector<Value> accumulate(KernelBuilder &b, ValueRange sums, const Slot &slot, Value rows, Value h) {
    Value v = b.toF32(b.load(rows, {slot.row, h}));
    if (slot.weight)
      v = arith::MulFOp::create(b, v, slot.weight);
    SmallVector<Value> results;
    for (auto [sum, counts] : llvm::zip_equal(sums, slot.counts))
      results.push_back(arith::AddFOp::create(b, sum, arith::SelectOp::create(b, counts, v, b.f32(0.0))));
    return results;
  }
};
} // namespace

void mlir::kernel::populateCombinePatterns(const TypeConverter &converter, GraphLowering &lowering,
                                           RewritePatternSet &patterns) {
  patterns.add<CombineLowering>(converter, lowering);
}
