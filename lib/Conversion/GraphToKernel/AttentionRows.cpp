//===- AttentionRows.cpp - nn.attention, a query at a time --------------------------------------------------------===//
//
// A unit of work is (batch row, query, head). It walks the keys that the query sees in blocks, with the largest score and
// the sum of the weights so far (online softmax: Milakov and Gimelshein, arXiv 1805.02867; FlashAttention, arXiv
// 2205.14135, algorithm 1): a block's scores are found key by key, then each column of the sum of values takes its part. Keys
// and values are read where they stand, and no memory grows with the number of keys.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "AttentionOperands.h"
#include "AttentionWork.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

/// Keys of a block: its scores are few enough to stay in the innermost cache, and enough to be found at the same time.
static constexpr int64_t keysAtATime = 64;

namespace {
class AttentionRowsProgram {
public:
  AttentionRowsProgram(GraphLowering &lowering, nn::AttentionOp op, nn::AttentionOp::Adaptor adaptor,
                       ConversionPatternRewriter &rewriter)
      : lowering(lowering), op(op), adaptor(adaptor), rewriter(rewriter), loc(op.getLoc()),
        k(lowering.kernels, op.getLoc()) {
    auto queryType = cast<RankedTensorType>(op.getQuery().getType());
    heads = queryType.getDimSize(2);
    depth = queryType.getDimSize(3);
    width = cast<RankedTensorType>(op.getValue().getType()).getDimSize(3);
    group = heads / cast<RankedTensorType>(op.getKey().getType()).getDimSize(1);
  }

  /// Launches the program; returns the result's buffer.
  Value emit(MemRefType resultType);

private:
  /// One unit of work: index values in the kernel.
  struct Unit {
    Value batch, query, head, keyHead;
    Value position, length;  ///< of the query, and of the valid keys
    Value firstKey, endKey;  ///< what it sees at most
  };

  void captureOperands(Value result);
  Unit unitAt(ValueRange at);
  SmallVector<Value> own(const Unit &unit, Value last) { return {unit.batch, unit.query, unit.head, last}; }
  /// An element of a mask or of a bias.
  Value elementOf(Value tensor, const Unit &unit, Value key);
  Value score(const Unit &unit, Value key);
  /// Takes the keys [first, end); `carried` are the largest score and the sum of the weights before.
  SmallVector<Value> takeBlock(const Unit &unit, Value first, Value end, ValueRange carried);
  void finish(const Unit &unit, Value sum);
  OpFoldResult pairs();

  GraphLowering &lowering;
  nn::AttentionOp op;
  nn::AttentionOp::Adaptor adaptor;
  ConversionPatternRewriter &rewriter;
  Location loc;
  KernelBuilder k;
  int64_t heads, depth, width, group;
  SmallVector<OpFoldResult> sizes; ///< of the query
  OpFoldResult length;             ///< of the cache

  // In the kernel.
  Value query, key, value, result, scores, sums, positions, lengths, mask, sinks, bias;
  Value batchSize, queries, cacheLength, lowest, zero;
};
} // namespace

AttentionRowsProgram::Unit AttentionRowsProgram::unitAt(ValueRange at) {
  Unit unit{at[0], at[1], at[2], k.div(at[2], k.idx(group)), Value(), Value(), k.idx(0), Value()};
  unit.position = positions ? k.add(k.toIndex(k.load(positions, at[0])), at[1]) : at[1];
  unit.length = lengths ? k.min(cacheLength, k.toIndex(k.load(lengths, at[0]))) : cacheLength;
  Value next = k.add(unit.position, k.idx(1));
  unit.endKey = op.getCausal() ? k.min(unit.length, next) : unit.length;
  if (op.getWindow())
    unit.firstKey = k.max(k.idx(0), k.sub(next, k.idx(*op.getWindow())));
  return unit;
}

Value AttentionRowsProgram::elementOf(Value tensor, const Unit &unit, Value key) {
  SmallVector<Value> place = sharedIndices(k, tensor, unit.batch, unit.head);
  place.append({unit.query, key});
  return k.load(tensor, place);
}

Value AttentionRowsProgram::score(const Unit &unit, Value key) {
  Value dot = k.loop(k.idx(0), k.idx(depth), 1, zero, [&](Value d, ValueRange acc) {
    Value left = k.toF32(k.load(query, own(unit, d)));
    Value right = k.toF32(k.load(this->key, {unit.batch, unit.keyHead, key, d}));
    return SmallVector<Value>{k.reduceAdd(acc[0], arith::MulFOp::create(k, left, right))};
  })[0];
  Value score = arith::MulFOp::create(k, dot, k.f32(op.getScale().convertToDouble()));
  if (bias)
    score = arith::AddFOp::create(k, score, k.toF32(elementOf(bias, unit, key)));
  // What is said of a hidden key, which may be no number, counts for nothing.
  if (mask)
    score = arith::SelectOp::create(k, elementOf(mask, unit, key), score, lowest);
  return score;
}

SmallVector<Value> AttentionRowsProgram::takeBlock(const Unit &unit, Value first, Value end, ValueRange carried) {
  Value count = k.sub(end, first);
  k.independentLoop(k.idx(0), count,
                    [&](Value j) { k.store(score(unit, k.add(first, j)), scores, own(unit, j)); });
  Value largest = k.loop(k.idx(0), count, 1, carried[0], [&](Value j, ValueRange acc) {
    return SmallVector<Value>{arith::MaximumFOp::create(k, acc[0], k.load(scores, own(unit, j)))};
  })[0];
  // Nothing seen so far: exp(-inf - 0) is 0 everywhere.
  Value isEmpty = arith::CmpFOp::create(k, arith::CmpFPredicate::OEQ, largest, lowest);
  Value base = arith::SelectOp::create(k, isEmpty, zero, largest);
  Value factor = math::ExpOp::create(k, arith::SubFOp::create(k, carried[0], base));
  Value sum = k.loop(k.idx(0), count, 1, zero, [&](Value j, ValueRange acc) {
    Value weight = math::ExpOp::create(k, arith::SubFOp::create(k, k.load(scores, own(unit, j)), base));
    k.store(weight, scores, own(unit, j));
    return SmallVector<Value>{k.reduceAdd(acc[0], weight)};
  })[0];
  k.independentLoop(k.idx(0), k.idx(width), [&](Value d) {
    Value before = arith::MulFOp::create(k, factor, k.load(sums, own(unit, d)));
    Value after = k.loop(k.idx(0), count, 1, before, [&](Value j, ValueRange acc) {
      Value row = k.toF32(k.load(value, {unit.batch, unit.keyHead, k.add(first, j), d}));
      return SmallVector<Value>{math::FmaOp::create(k, k.load(scores, own(unit, j)), row, acc[0])};
    })[0];
    k.store(after, sums, own(unit, d));
  });
  return {largest, math::FmaOp::create(k, factor, carried[1], sum)};
}

void AttentionRowsProgram::finish(const Unit &unit, Value sum) {
  // A query that sees nothing gets zeros.
  Value isEmpty = arith::CmpFOp::create(k, arith::CmpFPredicate::OEQ, sum, zero);
  Value factor = arith::SelectOp::create(k, isEmpty, zero, arith::DivFOp::create(k, k.f32(1.0), sum));
  Type element = getElementTypeOrSelf(result);
  k.independentLoop(k.idx(0), k.idx(width), [&](Value d) {
    k.store(k.convert(arith::MulFOp::create(k, factor, k.load(sums, own(unit, d))), element), result, own(unit, d));
  });
}

void AttentionRowsProgram::captureOperands(Value resultBuffer) {
  auto scratch = [&](int64_t last) {
    SmallVector<OpFoldResult> all(sizes);
    all[3] = rewriter.getIndexAttr(last);
    return k.arg(allocate(rewriter, loc, rewriter.getF32Type(), all));
  };
  auto optional = [&](Value operand) { return operand ? k.arg(operand) : Value(); };
  query = k.arg(adaptor.getQuery());
  key = k.arg(adaptor.getKey());
  value = k.arg(adaptor.getValue());
  result = k.arg(resultBuffer);
  scores = scratch(keysAtATime);
  sums = scratch(width);
  positions = optional(adaptor.getPositions());
  lengths = optional(adaptor.getLengths());
  mask = optional(adaptor.getMask());
  sinks = optional(adaptor.getSinks());
  bias = optional(adaptor.getBias());
  batchSize = k.indexArg(sizes[0]);
  queries = k.indexArg(sizes[1]);
  cacheLength = k.indexArg(length);
  lowest = k.f32(-std::numeric_limits<double>::infinity());
  zero = k.f32(0.0);
}

/// Of a query and a key, of one head. Where the host would have to wait for positions and lengths, all that there may be.
OpFoldResult AttentionRowsProgram::pairs() {
  if (isOffloaded(lowering.module) && (adaptor.getPositions() || adaptor.getLengths()))
    return mulSizes(rewriter, loc, {sizes[0], sizes[1], length});
  return AttentionWork(rewriter, op, adaptor.getPositions(), adaptor.getLengths(), sizes[0], sizes[1], length).pairs();
}

Value AttentionRowsProgram::emit(MemRefType resultType) {
  sizes = sizesOf(rewriter, loc, adaptor.getQuery());
  length = sizeOf(rewriter, loc, adaptor.getKey(), 2);
  SmallVector<OpFoldResult> resultSizes(sizes);
  resultSizes[3] = rewriter.getIndexAttr(width);
  Value buffer = allocate(rewriter, loc, resultType, resultSizes);
  captureOperands(buffer);
  k.forall({batchSize, queries, k.idx(heads)}, [&](ValueRange at) {
    Unit unit = unitAt(at);
    k.independentLoop(k.idx(0), k.idx(width), [&](Value d) { k.store(zero, sums, own(unit, d)); });
    // The sink takes part in the softmax; its weight is in the sum, and multiplies nothing.
    SmallVector<Value> init = {sinks ? k.toF32(k.load(sinks, unit.head)) : lowest, sinks ? k.f32(1.0) : zero};
    SmallVector<Value> all =
        k.loop(unit.firstKey, unit.endKey, keysAtATime, init, [&](Value first, ValueRange carried) {
          return takeBlock(unit, first, k.min(unit.endKey, k.add(first, k.idx(keysAtATime))), carried);
        });
    finish(unit, all[1]);
  });
  // Multiply-adds of both products.
  OpFoldResult flops = mulSizes(rewriter, loc, {pairs(), sizes[2], rewriter.getIndexAttr(2 * (depth + width))});
  k.launch(rewriter, attentionName("attention_rows", op), mulSizes(rewriter, loc, {sizes[0], sizes[1]}), flops);
  return buffer;
}

namespace {
struct AttentionRowsLowering : GraphPattern<nn::AttentionOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(nn::AttentionOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!isByRows(op))
      return failure();
    rewriter.replaceOp(op, AttentionRowsProgram(lowering, op, adaptor, rewriter).emit(memrefOf(op.getResult())));
    return success();
  }
};
} // namespace

void mlir::kernel::populateAttentionRowsPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                                 RewritePatternSet &patterns) {
  patterns.add<AttentionRowsLowering>(converter, lowering);
}
