//===- Layout.cpp - where each pair goes --------------------------------------------------------------------------===//
//
// The rows of a layout are the pairs by expert, and as they come within an expert. A pair's place is the first row of
// its expert, plus the pairs that earlier chunks of tokens have there, plus its rank in its own chunk. The counts and
// ranks come from an earlier kernel (the gate, or `count` where ids are given), so every chunk can find its places
// alone: it adds up the counts of all chunks, and no block waits for another.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Layout.h"

using namespace mlir;
using namespace mlir::kernel;

SmallVector<Type> LayoutBuffers::types(moe::LayoutType layout) {
  constexpr int64_t dynamic = ShapedType::kDynamic;
  const int64_t experts = layout.getExperts();
  const SmallVector<int64_t> shapes[] = {{experts + 1}, {dynamic}, {dynamic, dynamic}, {experts, recordFields}, {1}};
  return llvm::map_to_vector(shapes, [&](const SmallVector<int64_t> &shape) -> Type {
    return MemRefType::get(shape, IntegerType::get(layout.getContext(), 32));
  });
}

LayoutBuffers LayoutBuffers::allocate(OpBuilder &host, Location loc, moe::LayoutType layout, OpFoldResult tokens,
                                      OpFoldResult choices) {
  SmallVector<Type> all = types(layout);
  auto make = [&](unsigned i, ArrayRef<OpFoldResult> sizes) {
    return kernel::allocate(host, loc, cast<MemRefType>(all[i]), sizes);
  };
  LayoutBuffers buffers;
  buffers.offsets = make(0, {});
  buffers.tokens = make(1, mulSizes(host, loc, {tokens, choices}));
  buffers.places = make(2, {tokens, choices});
  buffers.records = make(3, {});
  buffers.count = make(4, {});
  return buffers;
}

namespace {
/// The kernel under construction.
class LayoutProgram {
public:
  LayoutProgram(KernelBuilder &b, const LayoutBuffers &layout, Value experts, PairCounts counts, Value firsts,
                Value totals, int64_t numExperts)
      : b(b), experts(numExperts), ids(b.arg(experts)), offsets(b.arg(layout.offsets)), tokens(b.arg(layout.tokens)),
        places(b.arg(layout.places)), records(b.arg(layout.records)), count(b.arg(layout.count)),
        ranks(b.arg(counts.ranks)), counts(b.arg(counts.counts)), firsts(b.arg(firsts)), totals(b.arg(totals)) {}

  void emit(const RoutingSizes &sizes) {
    TokenChunks chunks(b, sizes, b.dim(ids, 0));
    // Without tokens there are still offsets to write.
    b.forall({b.max(chunks.count(), b.idx(1))}, [&](ValueRange at) {
      addUp(at[0], chunks.count(), sizes.countedExperts);
      findFirsts(at[0]);
      Value first = chunks.first(b, at[0]), end = chunks.end(b, first), k = b.dim(ids, 1);
      place(at[0], b.mul(first, k), b.mul(end, k));
    });
  }

private:
  Value number(int64_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); }
  Value plus(Value x, Value y) { return arith::AddIOp::create(b, x, y); }

  /// firsts[chunk] = pairs of the chunks before, totals[chunk] = pairs of all chunks, by expert.
  void addUp(Value chunk, Value chunks, int64_t width) {
    Value columns = b.dim(counts, 1);
    b.parallel(b.idx(0), b.ceilDiv(columns, width), [&](Value strip) {
      Value first = b.mul(strip, b.idx(width)), end = b.min(columns, b.add(first, b.idx(width)));
      auto addRows = [&](Value sums, Value lower, Value upper, KernelBuilder::Loop start) {
        b.loop(first, end, 1, start);
        b.loop(lower, upper, 1, [&](Value c) {
          b.loop(first, end, 1,
                 [&](Value e) { b.store(plus(b.load(sums, {chunk, e}), b.load(counts, {c, e})), sums, {chunk, e}); });
        });
      };
      addRows(firsts, b.idx(0), chunk, [&](Value e) { b.store(number(0), firsts, {chunk, e}); });
      addRows(totals, chunk, chunks, [&](Value e) { b.store(b.load(firsts, {chunk, e}), totals, {chunk, e}); });
    });
  }

  /// Adds the first row of each expert to firsts[chunk]. The first chunk also writes the experts' offsets, and a tile
  /// record for each expert with rows.
  void findFirsts(Value chunk) {
    Value zero = number(0), one = number(1);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, chunk, b.idx(0));
    SmallVector<Value> sums = b.independentLoop(b.idx(0), b.idx(experts), {zero, zero}, [&](Value e, ValueRange acc) {
      Value rows = b.load(totals, {chunk, e}), some = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rows, zero);
      b.store(plus(b.load(firsts, {chunk, e}), acc[0]), firsts, {chunk, e});
      b.branch(isFirst, [&] {
        b.store(acc[0], offsets, e);
        b.branch(some, [&] {
          Value record = b.toIndex(acc[1]);
          SmallVector<Value> fields = {b.toI32(e), acc[0], rows, zero, zero};
          for (auto [field, value] : llvm::enumerate(fields))
            b.store(value, records, {record, b.idx(field)});
        });
      });
      return SmallVector<Value>{plus(acc[0], rows), plus(acc[1], arith::SelectOp::create(b, some, one, zero))};
    });
    b.branch(isFirst, [&] {
      b.store(sums[0], offsets, b.idx(experts));
      b.store(sums[1], count, b.idx(0));
    });
  }

  /// The pairs [first, end): row of each, and token of each row.
  void place(Value chunk, Value first, Value end) {
    constexpr int64_t strip = 32;
    Value k = b.dim(ids, 1), none = number(-1);
    b.parallel(b.idx(0), b.ceilDiv(b.sub(end, first), strip), [&](Value part) {
      Value begin = b.add(first, b.mul(part, b.idx(strip)));
      b.independentLoop(begin, b.min(end, b.add(begin, b.idx(strip))), [&](Value pair) {
        Value t = b.div(pair, k), j = b.rem(pair, k), id = b.load(ids, {t, j});
        b.branch(
            isExpert(b, id, experts),
            [&] {
              Value row = plus(b.load(firsts, {chunk, b.toIndex(id)}), b.load(ranks, {t, j}));
              b.store(b.toI32(t), tokens, b.toIndex(row));
              b.store(row, places, {t, j});
            },
            [&] { b.store(none, places, {t, j}); });
      });
    });
  }

  KernelBuilder &b;
  int64_t experts;
  Value ids, offsets, tokens, places, records, count, ranks, counts, firsts, totals;
};
} // namespace

/// Counts pairs whose experts no gate of this program chose.
static void emitCountKernel(GraphLowering &lowering, OpBuilder &host, Location loc, Value experts, PairCounts counts,
                            int64_t numExperts) {
  KernelBuilder b(lowering.kernels, loc);
  Value ids = b.arg(experts);
  PairCounts own{b.arg(counts.ranks), b.arg(counts.counts)};
  TokenChunks chunks(b, lowering.routing, b.dim(ids, 0));
  b.forall({chunks.count()}, [&](ValueRange at) {
    Value first = chunks.first(b, at[0]);
    emitCounts(b, ids, own, numExperts, at[0], first, chunks.end(b, first));
  });
  OpFoldResult rows = sizeOf(host, loc, experts, 0);
  b.launch(host, "count_" + Twine(numExperts), rows, mulSizes(host, loc, {rows, sizeOf(host, loc, experts, 1)}));
}

LaunchOp mlir::kernel::emitLayout(GraphLowering &lowering, OpBuilder &host, Location loc, Value experts,
                                  const LayoutBuffers &layout, std::optional<PairCounts> counts, int64_t numExperts) {
  OpFoldResult t = sizeOf(host, loc, experts, 0), k = sizeOf(host, loc, experts, 1);
  if (!counts) {
    counts = allocateCounts(host, loc, lowering.routing, t, k, numExperts);
    emitCountKernel(lowering, host, loc, experts, *counts, numExperts);
  }
  SmallVector<OpFoldResult> sizes = sizesOf(host, loc, counts->counts);
  auto perChunk = cast<MemRefType>(counts->counts.getType());
  Value firsts = allocate(host, loc, perChunk, sizes), totals = allocate(host, loc, perChunk, sizes);
  KernelBuilder b(lowering.kernels, loc);
  LayoutProgram(b, layout, experts, *counts, firsts, totals, numExperts).emit(lowering.routing);
  return b.launch(host, "layout_" + Twine(numExperts), t,
                  addSizes(host, loc, mulSizes(host, loc, {t, k}), host.getIndexAttr(numExperts)));
}
