//===- DenseRows.cpp - dispatch, expert and combine over all rows, experts and tokens -----------------------------===//
//
// A layout is two tensors over (token, slot): the expert (-1 = none) and the row in the dispatched tensor. The row is
// the number of pairs that come before: those of lower experts, and those of the same expert that stand earlier.
//
//===---------------------------------------------------------------------------------------------------------------===//

#include "Dense.h"

#include "moe-mlir/Dialect/Moe/Transforms/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace mlir::moe;
using namespace moe_mlir;

using Step = LinalgBuilder::Step;
using arith::CmpIPredicate;

static Value compare(ImplicitLocOpBuilder &b, CmpIPredicate predicate, Value left, Value right) {
  return arith::CmpIOp::create(b, predicate, left, right);
}
static Value both(ImplicitLocOpBuilder &b, Value left, Value right) { return arith::AndIOp::create(b, left, right); }
static Value either(ImplicitLocOpBuilder &b, Value left, Value right) { return arith::OrIOp::create(b, left, right); }

/// acc, or what `next` makes of it where `condition` holds: terms of other rows leave no trace, not even of a NaN.
static Value accumulateIf(Step &step, Value condition, Value next) {
  return arith::SelectOp::create(step.b, condition, next, step.acc);
}

/// The expert of each (token, slot) as i32, or where it stands in an order.
static Value expertOfPair(LinalgBuilder &linalg, ImplicitLocOpBuilder &b, Value experts, OrderAttr order) {
  Value places;
  if (order) {
    auto type = RankedTensorType::get(order.getExperts().size(), b.getI32Type());
    places = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<int32_t>(order.getPlaces())));
  }
  return linalg.map(linalg.sizes(experts), b.getI32Type(), {{experts, {0, 1}}}, [&](Step &step) -> Value {
    Value id = step.in[0];
    if (!id.getType().isInteger(32))
      id = arith::TruncIOp::create(step.b, step.b.getI32Type(), id);
    if (!places)
      return id;
    Value zero = arith::ConstantOp::create(step.b, step.b.getI32IntegerAttr(0));
    Value inside = arith::IndexCastOp::create(step.b, step.b.getIndexType(), arith::MaxSIOp::create(step.b, id, zero));
    Value place = tensor::ExtractOp::create(step.b, places, inside);
    return arith::SelectOp::create(step.b, isExpert(step.b, id), place, id);
  });
}

/// The row of each (token, slot): how many pairs stand before it.
static Value rowOfPair(LinalgBuilder &linalg, ImplicitLocOpBuilder &b, Value ids) {
  SmallVector<OpFoldResult> loops = linalg.sizes(ids);
  loops.append(linalg.sizes(ids));
  return linalg.reduce(loops, 2, b.getIndexAttr(0), {{ids, {0, 1}}, {ids, {2, 3}}}, [](Step &step) -> Value {
    ImplicitLocOpBuilder &at = step.b;
    Value mine = step.in[0], other = step.in[1];
    Value earlierToken = compare(at, CmpIPredicate::slt, step.index(2), step.index(0));
    Value sameToken = compare(at, CmpIPredicate::eq, step.index(2), step.index(0));
    Value earlierSlot = compare(at, CmpIPredicate::slt, step.index(3), step.index(1));
    Value earlier = either(at, earlierToken, both(at, sameToken, earlierSlot));
    Value lower = compare(at, CmpIPredicate::slt, other, mine);
    Value same = compare(at, CmpIPredicate::eq, other, mine);
    Value before = either(at, lower, both(at, same, earlier));
    return accumulateIf(step, both(at, isExpert(at, other), before),
                        arith::AddIOp::create(at, step.acc, constantIndex(at, 1)));
  });
}

/// Whether the pair with expert `id` and row `row` is row `index`.
static Value isRow(ImplicitLocOpBuilder &b, Value id, Value row, Value index) {
  return both(b, isExpert(b, id), compare(b, CmpIPredicate::eq, row, index));
}

/// The one value that an operand was converted to, or none for an absent operand.
static Value single(ValueRange values) { return values.empty() ? Value() : values.front(); }

namespace {
struct DenseDispatch : OpConversionPattern<DispatchOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(DispatchOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    LinalgBuilder linalg(b);
    Value tokens = adaptor.getTokens(), ids = expertOfPair(linalg, b, adaptor.getExperts(), op.getOrderAttr());
    Value rows = rowOfPair(linalg, b, ids);
    Type element = elementOf(tokens);

    OpFoldResult t = linalg.size(ids, 0), k = linalg.size(ids, 1), count;
    auto type = cast<RankedTensorType>(op.getRows().getType());
    if (type.isDynamicDim(0))
      count = arith::MulIOp::create(b, toIndex(b, t), toIndex(b, k)).getResult();
    else
      count = linalg.size(type.getDimSize(0));
    enum { R, H, T, K };
    SmallVector<LinalgBuilder::Operand> operands = {{ids, {T, K}}, {rows, {T, K}}, {tokens, {T, H}}};
    if (adaptor.getWeights())
      operands.push_back({adaptor.getWeights(), {T, K}});
    Value gathered = linalg.reduce(
        {count, linalg.size(tokens, 1), t, k}, 2, b.getFloatAttr(element, 0), operands, [&](Step &step) -> Value {
          Value value = step.in[2];
          if (adaptor.getWeights())
            value = fromF32(step.b, arith::MulFOp::create(step.b, toF32(step.b, value), toF32(step.b, step.in[3])),
                            element);
          return accumulateIf(step, isRow(step.b, step.in[0], step.in[1], step.index(R)), value);
        });

    SmallVector<Type> layout;
    if (failed(getTypeConverter()->convertType(op.getLayout().getType(), layout)))
      return rewriter.notifyMatchFailure(op, "layout type");
    Value idsAny = linalg.cast(ids, layout[0]), rowsAny = linalg.cast(rows, layout[1]);
    Value result = linalg.cast(gathered, type);
    rewriter.replaceOpWithMultiple(op, {ValueRange{result}, ValueRange{idsAny, rowsAny}});
    return success();
  }
};

struct DenseExpert : OpConversionPattern<ExpertOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ExpertOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    LinalgBuilder linalg(b);
    Value rows = single(adaptor.getRows());
    Value expert = expertOfRow(linalg, b, rows, adaptor.getLayout());
    Value up = product(linalg, b, expert, rows, single(adaptor.getWIn()), single(adaptor.getBIn()));
    Value hidden = activate(linalg, b, op, up);
    Value down = product(linalg, b, expert, hidden, single(adaptor.getWOut()), single(adaptor.getBOut()));
    Type element = elementOf(op.getResult());
    Value result = linalg.map(linalg.sizes(down), element, {{down, {0, 1}}},
                              [&](Step &step) { return fromF32(step.b, step.in[0], element); });
    rewriter.replaceOp(op, linalg.cast(result, op.getType()));
    return success();
  }

private:
  /// The expert of each row, -1 after the last.
  static Value expertOfRow(LinalgBuilder &linalg, ImplicitLocOpBuilder &b, Value rows, ValueRange layout) {
    SmallVector<OpFoldResult> loops = {linalg.size(rows, 0)};
    loops.append(linalg.sizes(layout[0]));
    return linalg.reduce(loops, 1, b.getI32IntegerAttr(-1), {{layout[0], {1, 2}}, {layout[1], {1, 2}}},
                         [](Step &step) -> Value {
                           Value match = isRow(step.b, step.in[0], step.in[1], step.index(0));
                           return accumulateIf(step, match, step.in[0]);
                         });
  }

  /// rows . weight[expert]^T + bias[expert] in f32.
  static Value product(LinalgBuilder &linalg, ImplicitLocOpBuilder &b, Value expert, Value rows, Value weight,
                       Value bias) {
    enum { R, N, E, K };
    OpFoldResult r = linalg.size(rows, 0), n = linalg.size(weight, 1);
    Value sum = linalg.reduce({r, n, linalg.size(weight, 0), linalg.size(weight, 2)}, 2, b.getF32FloatAttr(0),
                              {{expert, {R}}, {rows, {R, K}}, {weight, {E, N, K}}}, [](Step &step) -> Value {
                                ImplicitLocOpBuilder &at = step.b;
                                Value match = compare(at, CmpIPredicate::eq, toIndex(at, step.in[0]), step.index(E));
                                Value term = arith::MulFOp::create(at, toF32(at, step.in[1]), toF32(at, step.in[2]));
                                return accumulateIf(step, match, arith::AddFOp::create(at, step.acc, term));
                              });
    if (!bias)
      return sum;
    return linalg.map({r, n}, b.getF32Type(), {{sum, {R, N}}, {expert, {R}}}, [&](Step &step) -> Value {
      // Rows after the last have no expert and may hold anything; they must not read out of bounds.
      Value e = arith::MaxSIOp::create(step.b, step.in[1], constantI32(step.b, 0));
      Value term = tensor::ExtractOp::create(step.b, bias, ValueRange{toIndex(step.b, e), step.index(N)});
      return arith::AddFOp::create(step.b, step.in[0], toF32(step.b, term));
    });
  }

  /// The region over each element, or over each pair of gate and up, rounded to the weights' type.
  static Value activate(LinalgBuilder &linalg, ImplicitLocOpBuilder &b, ExpertOp op, Value up) {
    OpFoldResult r = linalg.size(up, 0);
    OpFoldResult width = linalg.size(cast<ShapedType>(op.getWOut().getType()).getDimSize(2));
    SmallVector<LinalgBuilder::Operand> operands = {{up, {0, 1}}};
    if (op.getGated()) {
      int64_t intermediate = cast<ShapedType>(op.getWOut().getType()).getDimSize(2);
      int64_t stride = op.getInterleaved() ? 2 : 1, second = op.getInterleaved() ? 1 : intermediate;
      OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
      auto columns = [&](int64_t first) -> Value {
        return tensor::ExtractSliceOp::create(b, up, ArrayRef<OpFoldResult>{zero, b.getIndexAttr(first)},
                                              ArrayRef<OpFoldResult>{r, width},
                                              ArrayRef<OpFoldResult>{one, b.getIndexAttr(stride)});
      };
      operands = {{columns(0), {0, 1}}, {columns(second), {0, 1}}};
    }
    Type element = elementOf(op.getWOut());
    return linalg.map({r, width}, element, operands, [&](Step &step) -> Value {
      Block &body = op.getActivation().front();
      IRMapping mapping;
      mapping.map(body.getArguments(), step.in);
      for (Operation &nested : body.without_terminator())
        step.b.clone(nested, mapping);
      return fromF32(step.b, mapping.lookupOrDefault(body.getTerminator()->getOperand(0)), element);
    });
  }
};

struct DenseCombine : OpConversionPattern<CombineOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(CombineOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    LinalgBuilder linalg(b);
    Value rows = single(adaptor.getRows()), weights = single(adaptor.getWeights()), ids = adaptor.getLayout()[0];
    const int64_t groups = op.getSum() ? op.getSum()->getGroups() : 1;
    const int64_t size = op.getLayout().getType().getExperts() / groups;
    Value sums = sumOfSlots(linalg, b, rows, adaptor.getLayout(), weights, groups, size);
    for (int64_t left = groups / 2; left > 0; left /= 2)
      sums = sumOfPairs(linalg, b, sums, left);
    Type element = elementOf(op.getResult());
    Value result = linalg.map({linalg.size(ids, 0), linalg.size(rows, 1)}, element, {{sums, {broadcast, 0, 1}}},
                              [&](Step &step) { return fromF32(step.b, step.in[0], element); });
    rewriter.replaceOp(op, linalg.cast(result, op.getType()));
    return success();
  }

private:
  static constexpr int64_t broadcast = LinalgBuilder::broadcast;

  /// [groups, T, H]: the weighted rows of each token, in slot order, by ranges of `size` experts.
  static Value sumOfSlots(LinalgBuilder &linalg, ImplicitLocOpBuilder &b, Value rows, ValueRange layout, Value weights,
                          int64_t groups, int64_t size) {
    enum { G, T, H, K, R };
    Value ids = layout[0], rowOf = layout[1];
    SmallVector<LinalgBuilder::Operand> operands = {{ids, {T, K}}, {rowOf, {T, K}}, {rows, {R, H}}};
    if (weights)
      operands.push_back({weights, {T, K}});
    SmallVector<OpFoldResult> loops = {linalg.size(groups), linalg.size(ids, 0), linalg.size(rows, 1),
                                       linalg.size(ids, 1), linalg.size(rows, 0)};
    return linalg.reduce(loops, 3, b.getF32FloatAttr(0), operands, [&](Step &step) -> Value {
      ImplicitLocOpBuilder &at = step.b;
      Value term = toF32(at, step.in[2]);
      if (weights)
        term = arith::MulFOp::create(at, toF32(at, step.in[3]), term);
      Value match = isRow(at, step.in[0], step.in[1], step.index(R));
      if (groups > 1) {
        Value group = arith::DivUIOp::create(at, toIndex(at, step.in[0]), constantIndex(at, size));
        match = both(at, match, compare(at, CmpIPredicate::eq, group, step.index(G)));
      }
      return accumulateIf(step, match, arith::AddFOp::create(at, step.acc, term));
    });
  }

  /// sums[2 * g] + sums[2 * g + 1] for each of `count` pairs.
  static Value sumOfPairs(LinalgBuilder &linalg, ImplicitLocOpBuilder &b, Value sums, int64_t count) {
    SmallVector<OpFoldResult> loops = {linalg.size(count), linalg.size(sums, 1), linalg.size(sums, 2)};
    return linalg.map(loops, b.getF32Type(), {}, [&](Step &step) -> Value {
      ImplicitLocOpBuilder &at = step.b;
      Value twice = arith::MulIOp::create(at, step.index(0), constantIndex(at, 2));
      auto side = [&](int64_t offset) -> Value {
        Value group = arith::AddIOp::create(at, twice, constantIndex(at, offset));
        return tensor::ExtractOp::create(at, sums, ValueRange{group, step.index(1), step.index(2)});
      };
      Value first = side(0), second = side(1);
      return arith::AddFOp::create(at, first, second);
    });
  }
};
} // namespace

void moe::populateDenseRowsPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<DenseDispatch, DenseExpert, DenseCombine>(converter, patterns.getContext());
}
