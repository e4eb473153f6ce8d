//===- Attention.cpp - nn.attention: one program ----------------------------------------------------------------===//
//
// A unit of work is (batch row, key head, block of query rows), where the query rows of a key head are the pairs
// (position, head of its group): one token of a group of eight heads is eight rows of a tile, so keys and values are
// read once for the group. For its rows a block computes the scores of all visible key blocks into memory of its own,
// normalises them, and multiplies by the values. The loops end at the last visible key: the work follows the position,
// not the cache's length.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "AttentionOperands.h"
#include "AttentionWork.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::kernel;

namespace {
class AttentionProgram {
public:
  AttentionProgram(GraphLowering &lowering, nn::AttentionOp op, nn::AttentionOp::Adaptor adaptor,
                   ConversionPatternRewriter &rewriter)
      : lowering(lowering), op(op), adaptor(adaptor), rewriter(rewriter), loc(op.getLoc()),
        k(lowering.kernels, op.getLoc()) {
    auto queryType = cast<RankedTensorType>(op.getQuery().getType());
    auto keyType = cast<RankedTensorType>(op.getKey().getType());
    element = queryType.getElementType();
    heads = queryType.getDimSize(2);
    depth = queryType.getDimSize(3);
    width = cast<RankedTensorType>(op.getValue().getType()).getDimSize(3);
    group = heads / keyType.getDimSize(1);
    ProductTiles tiles = tilesOf(op);
    tileRows = tiles.rows;
    tileColumns = tiles.columns;
    blockRows = tiles.chunkRows; // each key block is read once for all of them
  }

  /// Launches the program; returns the result's buffer.
  Value emit(MemRefType resultType);

private:
  /// One unit of work: index values in the kernel.
  struct Unit {
    Value batch, keyHead, firstRow, rows; ///< rows [firstRow, firstRow + rows) of the key head
    Value position, length;               ///< of the batch row
    Value scratch;                        ///< first row of the block's own memory
    Value firstKey, firstBlock, endBlock, endKey;
  };

  void captureOperands(Value result);
  Unit unitAt(ValueRange at);
  void scoreTile(const Unit &unit, Value keyBlock, Value row);
  void normalise(const Unit &unit, Value row);
  /// Adds the bias to a row of scores, and hides what the mask hides.
  void maskRow(const Unit &unit, Value row, Value end);
  void valueTile(const Unit &unit, Value row);
  Value isSeen(const Unit &unit, Value scratchRow, Value key);
  Value queryRow(const Unit &unit, Value row);
  /// (position, head in the group) of query row `row` of the unit.
  std::pair<Value, Value> split(const Unit &unit, Value row);
  Value scratchRows(const Unit &unit, Value row);
  Value visibleEnds();
  AttentionWork work();

  GraphLowering &lowering;
  nn::AttentionOp op;
  nn::AttentionOp::Adaptor adaptor;
  ConversionPatternRewriter &rewriter;
  Location loc;
  KernelBuilder k;
  Type element;
  int64_t heads, depth, group, tileRows, tileColumns, blockRows;
  int64_t width;                   ///< of the values' heads
  SmallVector<OpFoldResult> sizes; ///< of the query
  OpFoldResult length;             ///< of the cache

  // In the kernel.
  Value query, key, value, result, scores, probabilities, positions, lengths, mask, sinks, bias;
  Value batchSize, queries, cacheLength;
};
} // namespace

std::pair<Value, Value> AttentionProgram::split(const Unit &unit, Value row) {
  Value i = k.add(unit.firstRow, row);
  return {k.div(i, k.idx(group)), k.rem(i, k.idx(group))};
}

/// Row of the query matrix [B * S * N, D].
Value AttentionProgram::queryRow(const Unit &unit, Value row) {
  auto [s, g] = split(unit, row);
  Value token = k.add(k.mul(unit.batch, queries), s);
  return k.add(k.add(k.mul(token, k.idx(heads)), k.mul(unit.keyHead, k.idx(group))), g);
}

Value AttentionProgram::scratchRows(const Unit &unit, Value row) {
  return emitRows(k, tileRows, row, [&](Value i) { return k.add(unit.scratch, i); });
}

AttentionProgram::Unit AttentionProgram::unitAt(ValueRange at) {
  Unit unit;
  unit.batch = at[0];
  unit.keyHead = at[1];
  unit.firstRow = k.mul(at[2], k.idx(blockRows));
  unit.rows = k.min(k.idx(blockRows), k.sub(k.mul(queries, k.idx(group)), unit.firstRow));
  unit.scratch = k.mul(BlockIdOp::create(k), k.idx(blockRows));
  unit.position = positions ? k.toIndex(k.load(positions, at[0])) : k.idx(0);
  unit.length = lengths ? k.min(cacheLength, k.toIndex(k.load(lengths, at[0]))) : cacheLength;
  // From the first key that the first row sees to the last key that the last row sees.
  unit.endKey = unit.length;
  if (op.getCausal()) {
    Value last = k.div(k.sub(k.add(unit.firstRow, unit.rows), k.idx(1)), k.idx(group));
    unit.endKey = k.min(unit.length, k.add(k.add(unit.position, last), k.idx(1)));
  }
  unit.firstBlock = k.idx(0);
  if (op.getWindow()) {
    Value first = k.add(unit.position, k.div(unit.firstRow, k.idx(group)));
    Value visible = k.max(k.idx(0), k.sub(k.add(first, k.idx(1)), k.idx(*op.getWindow())));
    unit.firstBlock = k.div(visible, k.idx(keysPerBlock));
  }
  unit.endBlock = k.ceilDiv(unit.endKey, keysPerBlock);
  unit.firstKey = k.mul(unit.firstBlock, k.idx(keysPerBlock));
  return unit;
}

Value AttentionProgram::isSeen(const Unit &unit, Value scratchRow, Value key) {
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpIOp::create(k, predicate, x, y);
  };
  Value seen = compare(arith::CmpIPredicate::slt, key, unit.length);
  if (!op.getCausal() && !op.getWindow())
    return seen;
  Value own = k.add(unit.position, split(unit, k.sub(scratchRow, unit.scratch)).first);
  if (op.getCausal())
    seen = arith::AndIOp::create(k, seen, compare(arith::CmpIPredicate::sle, key, own));
  if (op.getWindow()) {
    Value before = k.sub(own, k.idx(*op.getWindow()));
    seen = arith::AndIOp::create(k, seen, compare(arith::CmpIPredicate::sgt, key, before));
  }
  return seen;
}

/// scores[tile, key block] = scale * q . k, or -inf.
void AttentionProgram::scoreTile(const Unit &unit, Value keyBlock, Value row) {
  emitRowTile(k, tileRows, k.sub(unit.rows, row), [&] {
    Value from = emitRows(k, tileRows, row, [&](Value i) { return queryRow(unit, i); });
    Value to = scratchRows(unit, row);
    auto strip = [&](Value offset) {
      Value acc = emitProduct(k, tileRows, tileColumns, query, from, key,
                              {unit.batch, unit.keyHead, keyBlock}, k.idx(0), k.idx(depth), offset)[0];
      Value column = k.add(k.mul(keyBlock, k.idx(keysPerBlock)), offset);
      emitStoreTile(k, acc, scores, to, column, [&](ValueRange args) -> Value {
        Value scaled = arith::MulFOp::create(k, args[2], k.f32(op.getScale().convertToDouble()));
        return arith::SelectOp::create(k, isSeen(unit, args[0], args[1]), scaled,
                                       k.f32(-std::numeric_limits<double>::infinity()));
      });
    };
    if (tileColumns == keysPerBlock)
      strip(k.idx(0));
    else
      k.loop(k.idx(0), k.idx(keysPerBlock), tileColumns, strip);
  });
}

void AttentionProgram::maskRow(const Unit &unit, Value row, Value end) {
  Value at = k.add(unit.scratch, row), lowest = k.f32(-std::numeric_limits<double>::infinity());
  Value query, g;
  std::tie(query, g) = split(unit, row);
  Value head = k.add(k.mul(unit.keyHead, k.idx(group)), g);
  auto each = [&](Value tensor, llvm::function_ref<Value(Value, Value)> combine) {
    SmallVector<Value> place = sharedIndices(k, tensor, unit.batch, head);
    k.loop(unit.firstKey, k.min(end, cacheLength), 1, [&](Value j) {
      k.store(combine(k.load(scores, {at, j}), k.load(tensor, {place[0], place[1], query, j})), scores, {at, j});
    });
  };
  if (bias) // what it says of a hidden key, which may be no number, counts for nothing
    each(bias, [&](Value score, Value added) -> Value {
      Value hidden = arith::CmpFOp::create(k, arith::CmpFPredicate::OEQ, score, lowest);
      return arith::SelectOp::create(k, hidden, score, arith::AddFOp::create(k, score, k.toF32(added)));
    });
  if (mask)
    each(mask, [&](Value score, Value seen) -> Value { return arith::SelectOp::create(k, seen, score, lowest); });
}

/// Softmax of one row of scores, rounded to the model's type.
void AttentionProgram::normalise(const Unit &unit, Value row) {
  Value at = k.add(unit.scratch, row), end = k.mul(unit.endBlock, k.idx(keysPerBlock));
  Value lowest = k.f32(-std::numeric_limits<double>::infinity()), zero = k.f32(0.0);
  maskRow(unit, row, end);
  Value largest = k.loop(unit.firstKey, end, 1, lowest, [&](Value j, ValueRange acc) {
    return SmallVector<Value>{arith::MaximumFOp::create(k, acc[0], k.load(scores, {at, j}))};
  })[0];
  // The sink takes part in the softmax; its weight is in the sum, and multiplies nothing.
  Value sink;
  if (sinks) {
    sink = k.convert(k.load(sinks, k.add(k.mul(unit.keyHead, k.idx(group)), split(unit, row).second)), k.getF32Type());
    largest = arith::MaximumFOp::create(k, largest, sink);
  }
  // A row that sees nothing: exp(-inf - 0) = 0 everywhere, and zeros come out.
  Value isEmpty = arith::CmpFOp::create(k, arith::CmpFPredicate::OEQ, largest, lowest);
  largest = arith::SelectOp::create(k, isEmpty, zero, largest);
  Value sum = k.loop(unit.firstKey, end, 1, zero, [&](Value j, ValueRange acc) {
    Value exp = math::ExpOp::create(k, arith::SubFOp::create(k, k.load(scores, {at, j}), largest));
    k.store(exp, scores, {at, j});
    return SmallVector<Value>{k.reduceAdd(acc[0], exp)};
  })[0];
  if (sink)
    sum = arith::AddFOp::create(k, sum, math::ExpOp::create(k, arith::SubFOp::create(k, sink, largest)));
  Value factor = arith::SelectOp::create(k, isEmpty, zero, arith::DivFOp::create(k, k.f32(1.0), sum));
  k.loop(unit.firstKey, end, 1, [&](Value j) {
    Value p = arith::MulFOp::create(k, k.load(scores, {at, j}), factor);
    k.store(k.convert(p, element), probabilities, {at, j});
  });
}

/// result[tile] = probabilities . v
void AttentionProgram::valueTile(const Unit &unit, Value row) {
  emitRowTile(k, tileRows, k.sub(unit.rows, row), [&] {
    Value from = scratchRows(unit, row);
    Value to = emitRows(k, tileRows, row, [&](Value i) { return queryRow(unit, i); });
    auto strip = [&](int64_t width, Value column) {
      Value acc = emitProduct(k, tileRows, width, probabilities, from, value, {unit.batch, unit.keyHead}, unit.firstKey,
                              unit.endKey, column)[0];
      emitStoreTile(k, acc, result, to, column, [](ValueRange args) { return args[2]; });
    };
    int64_t padded = llvm::alignTo(width, 16), full = padded / tileColumns * tileColumns;
    if (full)
      k.loop(k.idx(0), k.idx(full), tileColumns,
             [&](Value column) { strip(tileColumns, column); });
    if (padded > full)
      strip(padded - full, k.idx(full));
  });
}

/// For each batch row the number of keys that some query sees, for packing.
Value AttentionProgram::visibleEnds() {
  Value ends = allocate(rewriter, loc, rewriter.getI64Type(), {sizes[0]});
  KernelBuilder b(lowering.kernels, loc);
  Value out = b.arg(ends), limit = b.indexArg(length), count = b.indexArg(sizes[1]);
  Value at = adaptor.getPositions() ? b.arg(adaptor.getPositions()) : Value();
  Value valid = adaptor.getLengths() ? b.arg(adaptor.getLengths()) : Value();
  b.loop(b.idx(0), b.dim(out, 0), 1, [&](Value row) {
    Value end = valid ? b.min(limit, b.toIndex(b.load(valid, row))) : limit;
    if (op.getCausal())
      end = b.min(end, b.add(at ? b.toIndex(b.load(at, row)) : b.idx(0), count));
    b.store(arith::IndexCastOp::create(b, b.getI64Type(), end), out, row);
  });
  b.launch(rewriter, "visible_keys", sizes[0], sizes[0], /*single=*/true);
  return ends;
}

AttentionWork AttentionProgram::work() {
  return AttentionWork(rewriter, op, adaptor.getPositions(), adaptor.getLengths(), sizes[0], sizes[1], length);
}

void AttentionProgram::captureOperands(Value resultBuffer) {
  auto isEncoded = [](Value tensor) { return bool(cast<RankedTensorType>(tensor.getType()).getEncoding()); };
  Value keys = adaptor.getKey(), values = adaptor.getValue(), ends;
  OpFoldResult used;
  auto keyType = cast<RankedTensorType>(op.getKey().getType());
  length = keyType.isDynamicDim(2) ? sizeOf(rewriter, loc, keys, 2)
                                   : OpFoldResult(rewriter.getIndexAttr(keyType.getDimSize(2)));
  // Rows of f32 values are what the program reads if they fill whole vectors.
  bool packKeys = !isEncoded(op.getKey());
  bool packValues = !isEncoded(op.getValue()) && (pairsOf(element) > 1 || width % 16);
  if (packKeys || packValues) {
    ends = visibleEnds();
    used = work().keys();
  }
  if (packKeys)
    keys = packCache(lowering, rewriter, loc, keys, ends, used, keyEncoding);
  if (packValues)
    values = packCache(lowering, rewriter, loc, values, ends, used, valueEncoding);

  OpFoldResult padded =
      mulSizes(rewriter, loc, {ceilDivSize(rewriter, loc, length, keysPerBlock), rewriter.getIndexAttr(keysPerBlock)});
  Value blocks = BlocksOp::create(rewriter, loc);
  OpFoldResult rows = mulSizes(rewriter, loc, {blocks, rewriter.getIndexAttr(blockRows)});
  Value scoreBuffer = allocate(rewriter, loc, rewriter.getF32Type(), {rows, padded});
  query = k.arg(asMatrix(rewriter, loc, adaptor.getQuery()));
  key = k.arg(keys);
  value = k.arg(values);
  result = k.arg(asMatrix(rewriter, loc, resultBuffer));
  scores = k.arg(scoreBuffer);
  probabilities = element.isF32() ? scores : k.arg(allocate(rewriter, loc, element, {rows, padded}));
  positions = adaptor.getPositions() ? k.arg(adaptor.getPositions()) : Value();
  lengths = adaptor.getLengths() ? k.arg(adaptor.getLengths()) : Value();
  mask = adaptor.getMask() ? k.arg(adaptor.getMask()) : Value();
  sinks = adaptor.getSinks() ? k.arg(adaptor.getSinks()) : Value();
  bias = adaptor.getBias() ? k.arg(adaptor.getBias()) : Value();
  batchSize = k.indexArg(sizes[0]);
  queries = k.indexArg(sizes[1]);
  cacheLength = k.indexArg(length);
}

Value AttentionProgram::emit(MemRefType resultType) {
  sizes = sizesOf(rewriter, loc, adaptor.getQuery());
  SmallVector<OpFoldResult> resultSizes(sizes);
  resultSizes[3] = rewriter.getIndexAttr(width);
  Value buffer = allocate(rewriter, loc, resultType, resultSizes);
  captureOperands(buffer);
  Value rowBlocks = k.ceilDiv(k.mul(queries, k.idx(group)), blockRows);
  k.forall({batchSize, k.idx(heads / group), rowBlocks}, [&](ValueRange at) {
    Unit unit = unitAt(at);
    k.loop(unit.firstBlock, unit.endBlock, 1, [&](Value keyBlock) {
      k.loop(k.idx(0), unit.rows, tileRows, [&](Value row) { scoreTile(unit, keyBlock, row); });
    });
    k.loop(k.idx(0), unit.rows, 1, [&](Value row) { normalise(unit, row); });
    k.loop(k.idx(0), unit.rows, tileRows, [&](Value row) { valueTile(unit, row); });
  });
  // Multiply-adds of both products.
  OpFoldResult flops = mulSizes(rewriter, loc, {work().pairs(), sizes[2], rewriter.getIndexAttr(2 * (depth + width))});
  k.launch(rewriter, attentionName("attention", op), mulSizes(rewriter, loc, {sizes[0], sizes[1]}), flops);
  return buffer;
}

namespace {
struct AttentionLowering : GraphPattern<nn::AttentionOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(nn::AttentionOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (isByRows(op))
      return failure();
    rewriter.replaceOp(op, AttentionProgram(lowering, op, adaptor, rewriter).emit(memrefOf(op.getResult())));
    return success();
  }
};
} // namespace

void mlir::kernel::populateAttentionPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                             RewritePatternSet &patterns) {
  patterns.add<AttentionLowering>(converter, lowering);
}
