//===- TopK.cpp - nn.top_k: a row program -----------------------------------------------------------------------===//
//
// Elements become integers that order as they do, keys. Of each row the least key that is taken is found bit by bit: it
// is the largest number that K keys reach. Keys above it are taken, and of those equal to it the first ones. These are
// loops that count, as many as a key has bits, whatever K is. Where the order matters, each of the K counts those
// before it.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
/// Builds the kernel of one op.
class TopKProgram {
public:
  TopKProgram(GraphLowering &lowering, nn::TopKOp op) : op(op), k(lowering.kernels, op.getLoc()) {}

  void emit(OpBuilder &host, Value input, Value valuesBuffer, Value indicesBuffer);

private:
  Value keyOf(Value element);
  /// The least key of the row that is taken, and how many of those equal to it are.
  std::pair<Value, Value> threshold(Value row);
  void choose(Value row, Value least, Value room);
  void order(Value row);
  void fill(Value row);
  void put(Value row, Value at, Value index);

  Value number(Type type, int64_t value) { return arith::ConstantOp::create(k, k.getIntegerAttr(type, value)); }
  Value count(int64_t value) { return number(k.getI32Type(), value); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(k, predicate, a, b);
  }
  Value asCount(Value holds) { return arith::ExtUIOp::create(k, k.getI32Type(), holds); }
  /// How many of the first `upper` elements `holds` says.
  Value countIf(Value upper, llvm::function_ref<Value(Value)> holds) {
    return k.loop(k.idx(0), upper, 1, count(0), [&](Value i, ValueRange sum) {
      return SmallVector<Value>{arith::AddIOp::create(k, sum[0], asCount(holds(i)))};
    })[0];
  }
  Value toI64(Value index) { return arith::IndexCastOp::create(k, k.getI64Type(), index); }

  nn::TopKOp op;
  KernelBuilder k;
  IntegerType key;
  // Inside the kernel: rows of everything; null if nobody reads it.
  Value x, values, indices, keys, places, chosen;
  Value length, wanted; ///< N, and K but no more than N
};
} // namespace

Value TopKProgram::keyOf(Value element) {
  Value result = element;
  if (isa<FloatType>(element.getType())) {
    // The other bits of a negative number count downwards.
    Value wide = k.toF32(element), zero = k.f32(0.0), most = number(key, INT32_MAX);
    Value isZero = arith::CmpFOp::create(k, arith::CmpFPredicate::OEQ, wide, zero);
    Value bits = arith::BitcastOp::create(k, key, arith::SelectOp::create(k, isZero, zero, wide));
    Value turned = arith::XOrIOp::create(k, bits, most);
    Value isNegative = compare(arith::CmpIPredicate::slt, bits, number(key, 0));
    result = arith::SelectOp::create(k, isNegative, turned, bits);
    Value isNan = arith::CmpFOp::create(k, arith::CmpFPredicate::UNO, wide, wide);
    result = arith::SelectOp::create(k, isNan, most, result);
  }
  return op.getAscending() ? arith::XOrIOp::create(k, result, number(key, -1)).getResult() : result;
}

std::pair<Value, Value> TopKProgram::threshold(Value row) {
  unsigned width = key.getWidth();
  Value sign = number(key, width == 32 ? INT32_MIN : INT64_MIN), want = k.toI32(wanted);
  auto reach = [&](arith::CmpIPredicate predicate, Value bound) {
    return countIf(length, [&](Value i) { return compare(predicate, k.load(keys, {row, i}), bound); });
  };
  // Numbers without a sign grow bit by bit; keys have one.
  SmallVector<Value> found =
      k.loop(k.idx(0), k.idx(width), 1, {number(key, 0), sign}, [&](Value, ValueRange carried) {
        Value larger = arith::OrIOp::create(k, carried[0], carried[1]);
        Value hits = reach(arith::CmpIPredicate::sge, arith::XOrIOp::create(k, larger, sign));
        Value isReached = compare(arith::CmpIPredicate::sge, hits, want);
        // Half of the bit; its sign is none.
        Value half = arith::ShRUIOp::create(k, carried[1], number(key, 1));
        return SmallVector<Value>{arith::SelectOp::create(k, isReached, larger, carried[0]), half};
      });
  Value least = arith::XOrIOp::create(k, found[0], sign);
  return {least, arith::SubIOp::create(k, want, reach(arith::CmpIPredicate::sgt, least))};
}

void TopKProgram::put(Value row, Value at, Value index) {
  if (indices)
    k.store(toI64(index), indices, {row, at});
  if (values)
    k.store(k.load(x, {row, index}), values, {row, at});
}

void TopKProgram::choose(Value row, Value least, Value room) {
  k.independentLoop(k.idx(0), length, {count(0), count(0)}, [&](Value i, ValueRange before) {
    Value own = k.load(keys, {row, i});
    Value isAbove = compare(arith::CmpIPredicate::sgt, own, least);
    Value isEqual = compare(arith::CmpIPredicate::eq, own, least);
    Value hasRoom = compare(arith::CmpIPredicate::slt, before[1], room);
    Value isTaken = arith::OrIOp::create(k, isAbove, arith::AndIOp::create(k, isEqual, hasRoom));
    Value equal = arith::MinSIOp::create(k, before[1], room);
    Value at = k.toIndex(arith::AddIOp::create(k, before[0], equal));
    k.branch(isTaken, [&] {
      if (!chosen)
        return put(row, at, i);
      k.store(k.toI32(i), places, {row, at});
      k.store(own, chosen, {row, at});
    });
    return SmallVector<Value>{arith::AddIOp::create(k, before[0], asCount(isAbove)),
                              arith::AddIOp::create(k, before[1], asCount(isEqual))};
  });
}

void TopKProgram::order(Value row) {
  k.independentLoop(k.idx(0), wanted, [&](Value j) {
    Value own = k.load(chosen, {row, j});
    Value rank = countIf(wanted, [&](Value other) {
      Value key = k.load(chosen, {row, other});
      Value isEarlier = arith::AndIOp::create(k, compare(arith::CmpIPredicate::eq, key, own),
                                              compare(arith::CmpIPredicate::ult, other, j));
      return arith::OrIOp::create(k, compare(arith::CmpIPredicate::sgt, key, own), isEarlier);
    });
    put(row, k.toIndex(rank), k.toIndex(k.load(places, {row, j})));
  });
}

/// What a row is too short for.
void TopKProgram::fill(Value row) {
  bool isKnown = !ShapedType::isDynamic(cast<RankedTensorType>(op.getX().getType()).getShape().back());
  if (isKnown && !op.getCount())
    return;
  Value end = k.dim(indices ? indices : values, 1);
  k.loop(wanted, end, 1, [&](Value at) {
    if (indices)
      k.store(number(k.getI64Type(), 0), indices, {row, at});
    if (values)
      k.store(arith::ConstantOp::create(k, k.getZeroAttr(getElementTypeOrSelf(values))), values, {row, at});
  });
}

void TopKProgram::emit(OpBuilder &host, Value input, Value valuesBuffer, Value indicesBuffer) {
  Location loc = op.getLoc();
  Type element = getElementTypeOrSelf(input);
  key = k.getIntegerType(element.isInteger(64) ? 64 : 32);
  Value rows = asMatrix(host, loc, input), results = asMatrix(host, loc, indicesBuffer);
  OpFoldResult count = sizeOf(host, loc, rows, 0), n = sizeOf(host, loc, rows, 1);
  OpFoldResult taken = sizeOf(host, loc, results, 1);
  bool hasValues = !op.getValues().use_empty(), hasIndices = !op.getIndices().use_empty() || !hasValues;

  x = k.arg(rows);
  indices = hasIndices ? k.arg(results) : Value();
  values = hasValues ? k.arg(asMatrix(host, loc, valuesBuffer)) : Value();
  keys = k.arg(allocate(host, loc, key, {count, n}));
  if (!op.getUnordered()) {
    chosen = k.arg(allocate(host, loc, key, {count, taken}));
    places = k.arg(allocate(host, loc, k.getI32Type(), {count, taken}));
  }
  length = k.dim(x, 1);
  wanted = k.min(length, k.dim(indices ? indices : values, 1));
  k.forall({k.dim(x, 0)}, [&](ValueRange row) {
    k.loop(k.idx(0), length, 1, [&](Value i) { k.store(keyOf(k.load(x, {row[0], i})), keys, {row[0], i}); });
    auto [least, room] = threshold(row[0]);
    choose(row[0], least, room);
    if (!op.getUnordered())
      order(row[0]);
    fill(row[0]);
  });
  int64_t last = cast<MemRefType>(results.getType()).getDimSize(1);
  std::string name = op.getUnordered() ? "choose_" : "top_";
  k.launch(host, name + (ShapedType::isDynamic(last) ? "" : std::to_string(last) + "_") + typeName(element), count,
           mulSizes(host, loc, {count, n, host.getIndexAttr(key.getWidth())}));
}

namespace {
struct TopKLowering : GraphPattern<nn::TopKOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(nn::TopKOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, adaptor.getX());
    if (adaptor.getCount())
      sizes.back() = adaptor.getCount();
    Value values = allocate(rewriter, loc, memrefOf(op.getValues()), sizes);
    Value indices = allocate(rewriter, loc, memrefOf(op.getIndices()), sizes);
    TopKProgram(lowering, op).emit(rewriter, adaptor.getX(), values, indices);
    rewriter.replaceOp(op, {values, indices});
    return success();
  }
};
} // namespace

void mlir::kernel::populateTopKPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                        RewritePatternSet &patterns) {
  patterns.add<TopKLowering>(converter, lowering);
}
