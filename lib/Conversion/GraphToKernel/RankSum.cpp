//===- RankSum.cpp - shard.all_reduce and shard.all_gather: what all ranks have, added or joined ------------------===//
//
// Each rank gives what it has to all others, and adds up what all gave, in f32 and one order: the same bits on every
// rank. Or it joins what all gave along the last dimension.
//
// Nobody says when he has read, so two halves of the window take turns. Who fills a half for the second time has the
// summands of the exchange between, which a rank sends after it has read those of the first.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Exchange.h"
#include "PassLoop.h"

#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"

using namespace mlir;
using namespace mlir::kernel;

static constexpr int64_t columnsPerChunk = 512;

namespace {
/// Rows that ranks give to each other at a time.
struct GivenRows {
  OpFoldResult count; ///< those that are given
  OpFoldResult room;  ///< for a rank's in the window; more than `count` in the last of several passes
  Value first;        ///< of a pass; null if all are given at once

  /// In a kernel: number `row` of those that are given, as a row of all.
  Value at(KernelBuilder &b, Value row) const { return first ? b.add(b.arg(first), row) : row; }
};
} // namespace

/// In a kernel: the first row of rank `rank`'s summand in the half of the window that is in use.
static Value firstRow(KernelBuilder &b, const Ranks &ranks, Value flags, Value rows, Value rank) {
  Value epoch = EpochOp::create(b, b.getI32Type(), flags);
  Value half = b.toIndex(arith::AndIOp::create(b, epoch, arith::ConstantOp::create(b, b.getI32IntegerAttr(1))));
  return b.mul(b.add(b.mul(half, b.idx(ranks.count)), rank), rows);
}

/// In a kernel: a rank's rows in a half of the window, and those of them that make `result`.
static std::pair<Value, Value> rowsOf(KernelBuilder &b, const GivenRows &given, Value result) {
  Value rows = given.first ? b.indexArg(given.room) : b.dim(result, 0);
  return {rows, given.first ? b.indexArg(given.count) : rows};
}

/// Of the kernel that makes `result`.
static std::string resultName(StringRef what, Value result, const GivenRows &given) {
  return what.str() + shapeName(cast<MemRefType>(result.getType()).getShape().take_back()) +
         (given.first ? "_of_pass" : "");
}

static LaunchOp emitGive(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks, Value flags,
                         Value summand, Value window, const GivenRows &given, StringRef name) {
  OpFoldResult rows = given.count;
  KernelBuilder b(lowering.kernels, loc);
  Value from = b.arg(summand), to = b.arg(window), own = b.arg(ranks.own), count = b.indexArg(rows);
  Value first = firstRow(b, ranks, b.arg(flags), b.indexArg(given.room), own);
  b.forall({b.idx(ranks.count), count}, [&](ValueRange at) {
    Value peer = rankBehind(b, ranks, own, b.add(at[0], b.idx(1)));
    PutOp::create(b, from, given.at(b, at[1]), to, peer, b.add(first, at[1]));
  });
  LaunchOp launch = b.launch(host, name, rows, mulSizes(host, loc, {rows, sizeOf(host, loc, summand, 1)}));
  if (std::optional<int64_t> known = getConstantIntValue(rows))
    setTraffic(launch, ranks, {Value(), Value(), 0, *known * rowBytes(summand)});
  else
    setTraffic(launch, ranks, {Value(), cast<Value>(rows), rowBytes(summand), 0});
  return launch;
}

static void emitSum(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks, Value flags,
                    Value window, Value result, const GivenRows &rowsGiven) {
  KernelBuilder b(lowering.kernels, loc);
  Value given = b.arg(ownPart(host, loc, window)), y = b.arg(result);
  auto [rows, count] = rowsOf(b, rowsGiven, y);
  Value first = firstRow(b, ranks, b.arg(flags), rows, b.idx(0));
  b.forall({count, b.ceilDiv(b.dim(y, 1), columnsPerChunk)}, [&, rows = rows](ValueRange at) {
    Value begin = b.mul(at[1], b.idx(columnsPerChunk));
    b.loop(begin, b.min(b.dim(y, 1), b.add(begin, b.idx(columnsPerChunk))), 1, [&](Value h) {
      SmallVector<Value> summands;
      for (int64_t rank = 0; rank < ranks.count; ++rank)
        summands.push_back(b.toF32(b.load(given, {b.add(b.add(first, b.mul(b.idx(rank), rows)), at[0]), h})));
      b.store(addPairwise(b, summands), y, {rowsGiven.at(b, at[0]), h});
    });
  });
  SmallVector<OpFoldResult> sizes = sizesOf(host, loc, result);
  if (rowsGiven.first)
    sizes[0] = rowsGiven.count;
  b.launch(host, resultName("sum_of_ranks_", result, rowsGiven), sizes[0],
           mulSizes(host, loc, {sizes[0], sizes[1], host.getIndexAttr(ranks.count)}));
}

static void emitJoin(GraphLowering &lowering, OpBuilder &host, Location loc, const Ranks &ranks, Value flags,
                     Value window, Value result, const GivenRows &rowsGiven) {
  KernelBuilder b(lowering.kernels, loc);
  Value given = b.arg(ownPart(host, loc, window)), y = b.arg(result);
  auto [rows, count] = rowsOf(b, rowsGiven, y);
  Value width = b.dim(given, 1), first = firstRow(b, ranks, b.arg(flags), rows, b.idx(0));
  b.forall({b.idx(ranks.count), count}, [&, rows = rows](ValueRange at) {
    Value from = b.add(b.add(first, b.mul(at[0], rows)), at[1]), to = b.mul(at[0], width);
    Value row = rowsGiven.at(b, at[1]);
    b.loop(b.idx(0), width, 1, [&](Value h) { b.store(b.load(given, {from, h}), y, {row, b.add(to, h)}); });
  });
  SmallVector<OpFoldResult> sizes = sizesOf(host, loc, result);
  if (rowsGiven.first)
    sizes[0] = rowsGiven.count;
  b.launch(host, resultName("join_parts_", result, rowsGiven), sizes[0], mulSizes(host, loc, sizes));
}

/// Every rank has to be given the same rows. The ranks agree once per call where all layers have as many. Returns what
/// they have agreed on.
static OpFoldResult emitRowCheck(OpBuilder &host, Location loc, const Ranks &ranks, OpFoldResult rows) {
  if (getConstantIntValue(rows))
    return rows;
  Value own = cast<Value>(rows), largest = ranks.largest(host, loc, rows);
  Value same = arith::CmpIOp::create(host, loc, arith::CmpIPredicate::eq, own, largest);
  CheckOp::create(host, loc, same,
                  host.getStringAttr("this rank was given {0} tokens and another one {1}; ranks that add their "
                                     "sums take the same inputs"),
                  ValueRange{own, largest});
  return largest;
}

/// "model.layers.0.self_attn.o_proj" of its weight.
static std::string productName(Value weight) {
  auto parameter = weight.getDefiningOp<moe::ParameterOp>();
  return parameter ? cast<StringAttr>(parameter.getSources()[0]).getValue().rsplit('.').first.str() : "dense";
}

/// The layer whose sums or parts these are.
static std::string layerOf(Operation *op) {
  Operation *maker = op->getOperand(0).getDefiningOp();
  // Sums of one grid may be summed over another one, rounded in between, and a norm sums what it makes of a product.
  while (isa_and_present<linalg::LinalgOp, tensor::ExpandShapeOp, arith::TruncFOp>(maker))
    maker = maker->getOperand(0).getDefiningOp();
  if (isa_and_present<shard::AllReduceOp>(maker))
    return layerOf(maker);
  if (auto linear = dyn_cast_if_present<nn::LinearOp>(maker))
    return productName(linear.getWeight());
  if (auto embedding = dyn_cast_if_present<nn::EmbeddingOp>(maker))
    return productName(embedding.getTable());
  auto combine = dyn_cast_if_present<moe::CombineOp>(maker);
  Operation *dispatch = combine ? combine.getLayout().getDefiningOp() : nullptr;
  return dispatch ? layerName(dispatch) : "moe";
}

/// Sets the insertion point into a loop over passes. The last one has what is left.
static GivenRows open(OpBuilder &host, Location loc, OpFoldResult rows, int64_t tokens) {
  PassLoop pass = openPasses(host, loc, rows, tokens);
  Value left = arith::SubIOp::create(host, loc, getValueOrCreateConstantIndexOp(host, loc, rows), pass.first);
  Value room = getValueOrCreateConstantIndexOp(host, loc, pass.size);
  return {arith::MinUIOp::create(host, loc, left, room).getResult(), pass.size, pass.first};
}

namespace {
/// What ranks give to all others: a matrix of each, which comes to stand behind one another in a window.
struct Given {
  Ranks ranks;
  Value flags, window;
  GivenRows rows;
};
} // namespace

static Given emitExchange(GraphLowering &lowering, OpBuilder &host, Operation *op, StringRef grid, Value own,
                          StringRef what) {
  Location loc = op->getLoc();
  OpFoldResult rows = sizeOf(host, loc, own, 0), width = sizeOf(host, loc, own, 1);
  Ranks ranks(host, loc, lowering.module, grid);
  OpFoldResult agreed = emitRowCheck(host, loc, ranks, rows);
  GivenRows given{rows, rows, {}};
  if (std::optional<int64_t> tokens = passTokensOf(op))
    given = open(host, loc, agreed, *tokens);
  Value window = ranks.window(host, loc, what == "sum" ? "summands" : "parts", getElementTypeOrSelf(own),
                              {mulSizes(host, loc, {given.room, host.getIndexAttr(2 * ranks.count)}), width});
  Value flags = ranks.flags(host, loc, "given");
  std::string layer = layerOf(op), phase = (what + " over ranks").str();
  emitAdvance(lowering, host, loc, ranks, flags);
  StringRef name = what == "sum" ? "give_sums" : "give_parts";
  LaunchOp give = emitGive(lowering, host, loc, ranks, flags, own, window, given, name);
  setPhase(give, layer, phase);
  LaunchOp signal = emitSignal(lowering, host, loc, ranks, flags);
  setPhase(signal, layer, phase);
  setTraffic(signal, ranks, {Value(), Value(), 0, 4});
  setPhase(emitAwait(lowering, host, loc, ranks, flags), layer, phase);
  return {ranks, flags, window, given};
}

namespace {
struct RankSumLowering : GraphPattern<shard::AllReduceOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(shard::AllReduceOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value summand = asMatrix(rewriter, loc, adaptor.getInput());
    Given given = emitExchange(lowering, rewriter, op, op.getGrid(), summand, "sum");
    Value result = allocate(rewriter, loc, memrefOf(op.getResult()), sizesOf(rewriter, loc, adaptor.getInput()));
    emitSum(lowering, rewriter, loc, given.ranks, given.flags, given.window, asMatrix(rewriter, loc, result),
            given.rows);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct RankGatherLowering : GraphPattern<shard::AllGatherOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(shard::AllGatherOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value part = asMatrix(rewriter, loc, adaptor.getInput());
    Given given = emitExchange(lowering, rewriter, op, op.getGrid(), part, "gather");
    MemRefType type = memrefOf(op.getResult());
    SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, adaptor.getInput());
    sizes.back() = rewriter.getIndexAttr(type.getShape().back());
    Value result = allocate(rewriter, loc, type, sizes);
    emitJoin(lowering, rewriter, loc, given.ranks, given.flags, given.window, asMatrix(rewriter, loc, result),
             given.rows);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void mlir::kernel::populateRankSumPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                           RewritePatternSet &patterns) {
  patterns.add<RankSumLowering, RankGatherLowering>(converter, lowering);
}
