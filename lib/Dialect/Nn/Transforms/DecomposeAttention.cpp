//===- DecomposeAttention.cpp - rope, cache_update, attention as linalg -------------------------------------------===//

#include "Decomposition.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Dialect/Nn/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::nn;
using namespace moe_mlir;

/// The loop for a dimension that may be 1 for all.
static int64_t loopOrOne(Value tensor, int64_t dim, int64_t loop) {
  return cast<ShapedType>(tensor.getType()).getDimSize(dim) == 1 ? LinalgBuilder::broadcast : loop;
}

/// The size of a dimension that several types state: the verifier asks for one of them at least.
static int64_t staticSize(ArrayRef<std::pair<Value, int64_t>> dims) {
  for (auto [tensor, dim] : dims)
    if (auto type = cast<ShapedType>(tensor.getType()); !type.isDynamicDim(dim))
      return type.getDimSize(dim);
  llvm_unreachable("verified to be static");
}

namespace {
struct DecomposeRope : Decomposition<RopeOp> {
  using Decomposition::Decomposition;

  Value build(RopeOp op, ImplicitLocOpBuilder &b, LinalgBuilder &linalg) const override {
    Value x = op.getX();
    int64_t half = staticSize({{x, 3}, {op.getCos(), 2}, {op.getSin(), 2}}) / 2;
    int64_t batch = loopOrOne(op.getCos(), 0, 0), sinBatch = loopOrOne(op.getSin(), 0, 0);
    return linalg.map(linalg.sizes(x), elementOf(x),
                      {{x, {0, 1, 2, 3}}, {op.getCos(), {batch, 1, 3}}, {op.getSin(), {sinBatch, 1, 3}}},
                      [&](LinalgBuilder::Step &step) -> Value {
                        ImplicitLocOpBuilder &at = step.b;
                        Value d = step.index(3), h = constantIndex(at, half);
                        Value first = arith::CmpIOp::create(at, arith::CmpIPredicate::slt, d, h);
                        Value partner = arith::SelectOp::create(at, first, arith::AddIOp::create(at, d, h),
                                                                arith::SubIOp::create(at, d, h));
                        Value other = tensor::ExtractOp::create(
                            at, x, ValueRange{step.index(0), step.index(1), step.index(2), partner});
                        other = toF32(at, other);
                        Value rotated = arith::SelectOp::create(at, first, arith::NegFOp::create(at, other), other);
                        Value kept = arith::MulFOp::create(at, toF32(at, step.in[0]), toF32(at, step.in[1]));
                        Value turned = arith::MulFOp::create(at, rotated, toF32(at, step.in[2]));
                        return fromF32(at, arith::AddFOp::create(at, kept, turned), elementOf(x));
                      });
  }
};

struct DecomposeCacheUpdate : Decomposition<CacheUpdateOp> {
  using Decomposition::Decomposition;

  Value build(CacheUpdateOp op, ImplicitLocOpBuilder &b, LinalgBuilder &linalg) const override {
    Value rows = op.getRows(), count = toIndex(b, linalg.size(rows, 1));
    return linalg.map(linalg.sizes(op.getCache()), elementOf(rows),
                      {{op.getCache(), {0, 1, 2, 3}}, {op.getPositions(), {0}}},
                      [&](LinalgBuilder::Step &step) -> Value {
                        ImplicitLocOpBuilder &at = step.b;
                        // As unsigned numbers, rows before the first new one are beyond the last.
                        Value row = arith::SubIOp::create(at, step.index(2), toIndex(at, step.in[1]));
                        SmallVector<Value> source = {step.index(0), row, step.index(1), step.index(3)};
                        Value isNew = arith::CmpIOp::create(at, arith::CmpIPredicate::ult, row, count);
                        auto choice = scf::IfOp::create(
                            at, isNew,
                            [&](OpBuilder &nested, Location loc) {
                              Value value = tensor::ExtractOp::create(nested, loc, rows, source);
                              scf::YieldOp::create(nested, loc, value);
                            },
                            [&](OpBuilder &nested, Location loc) { scf::YieldOp::create(nested, loc, step.in[0]); });
                        return choice.getResult(0);
                      });
  }
};

/// Query head n = m * G + g is dimension (M, G), so that it reads key head m without a division.
class AttentionBuilder {
public:
  AttentionBuilder(AttentionOp op, PatternRewriter &rewriter)
      : op(op), b(op.getLoc(), rewriter), linalg(b), keyHeads(staticSize({{op.getKey(), 1}, {op.getValue(), 1}})),
        group(staticSize({{op.getQuery(), 2}, {op.getResult(), 2}}) / keyHeads) {}

  Value build();

private:
  enum Loop { B, S, M, G, L, D };

  Value splitHeads(Value tensor, int64_t dim);
  Value buildScores(Value query, ArrayRef<OpFoldResult> loops);
  Value isSeen(LinalgBuilder::Step &step, ArrayRef<Value> extra);
  Value largestWithSinks(Value largest, ArrayRef<OpFoldResult> rows);
  Value sumWithSinks(Value sum, Value largest, ArrayRef<OpFoldResult> rows);

  AttentionOp op;
  ImplicitLocOpBuilder b;
  LinalgBuilder linalg;
  int64_t keyHeads, group;
};

Value AttentionBuilder::splitHeads(Value tensor, int64_t dim) {
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> known(cast<ShapedType>(tensor.getType()).getShape());
  known[dim] = keyHeads * group;
  tensor = linalg.cast(tensor, cast<ShapedType>(tensor.getType()).clone(known));
  SmallVector<OpFoldResult> sizes = linalg.sizes(tensor);
  int64_t next = 0;
  for (int64_t i = 0, rank = sizes.size(); i < rank; ++i) {
    groups.push_back(i == dim ? ReassociationIndices{next, next + 1} : ReassociationIndices{next});
    next += groups.back().size();
  }
  sizes[dim] = b.getIndexAttr(keyHeads);
  sizes.insert(sizes.begin() + dim + 1, b.getIndexAttr(group));
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  auto type = cast<RankedTensorType>(tensor.getType()).clone(shape);
  return tensor::ExpandShapeOp::create(b, type, tensor, groups, sizes);
}

/// Whether the query of the step sees the key of the step; `extra` holds position, length and mask as far as given.
Value AttentionBuilder::isSeen(LinalgBuilder::Step &step, ArrayRef<Value> extra) {
  ImplicitLocOpBuilder &at = step.b;
  Value key = step.index(L), position = step.index(S), seen;
  auto require = [&](Value condition) {
    seen = seen ? arith::AndIOp::create(at, seen, condition).getResult() : condition;
  };
  const Value *next = extra.begin();
  if (op.getPositions())
    position = arith::AddIOp::create(at, position, toIndex(at, *next++));
  if (op.getLengths())
    require(arith::CmpIOp::create(at, arith::CmpIPredicate::slt, key, toIndex(at, *next++)));
  if (op.getMask())
    require(*next++);
  if (op.getCausal())
    require(arith::CmpIOp::create(at, arith::CmpIPredicate::sle, key, position));
  if (op.getWindow()) {
    Value first = arith::SubIOp::create(at, position, constantIndex(at, *op.getWindow()));
    require(arith::CmpIOp::create(at, arith::CmpIPredicate::sgt, key, first));
  }
  return seen ? seen : arith::ConstantOp::create(at, at.getBoolAttr(true)).getResult();
}

/// scale * q.k + bias where the key is seen, minus infinity elsewhere: [B, S, M, G, L].
Value AttentionBuilder::buildScores(Value query, ArrayRef<OpFoldResult> loops) {
  Value dots = linalg.reduce(loops, D, b.getF32FloatAttr(0), {{query, {B, S, M, G, D}}, {op.getKey(), {B, M, L, D}}},
                             addProductF32);
  SmallVector<LinalgBuilder::Operand> operands = {{dots, {B, S, M, G, L}}};
  if (op.getPositions())
    operands.push_back({op.getPositions(), {B}});
  if (op.getLengths())
    operands.push_back({op.getLengths(), {B}});
  auto addOfHeads = [&](Value tensor) {
    int64_t batch = loopOrOne(tensor, 0, B);
    if (loopOrOne(tensor, 1, M) == LinalgBuilder::broadcast)
      operands.push_back({tensor, {batch, LinalgBuilder::broadcast, S, L}});
    else
      operands.push_back({splitHeads(tensor, 1), {batch, M, G, S, L}});
  };
  if (op.getMask())
    addOfHeads(op.getMask());
  if (op.getBias())
    addOfHeads(op.getBias());
  Value scale = constantF32(b, op.getScale().convertToDouble());
  Value none = constantF32(b, -std::numeric_limits<float>::infinity());
  return linalg.map(loops.drop_back(), b.getF32Type(), operands, [&](LinalgBuilder::Step &step) -> Value {
    Value seen = isSeen(step, ArrayRef(step.in).drop_front());
    Value score = arith::MulFOp::create(step.b, step.in[0], scale);
    if (op.getBias())
      score = arith::AddFOp::create(step.b, score, toF32(step.b, step.in.back()));
    return arith::SelectOp::create(step.b, seen, score, none);
  });
}

/// The largest score of a row, of which the sink of its head is one: [B, S, M, G].
Value AttentionBuilder::largestWithSinks(Value largest, ArrayRef<OpFoldResult> rows) {
  return linalg.map(rows, b.getF32Type(), {{largest, {B, S, M, G}}, {splitHeads(op.getSinks(), 0), {M, G}}},
                    [&](LinalgBuilder::Step &step) -> Value {
                      return arith::MaximumFOp::create(step.b, step.in[0], toF32(step.b, step.in[1]));
                    });
}

/// The sum of a row's exponentials and that of the sink of its head: [B, S, M, G].
Value AttentionBuilder::sumWithSinks(Value sum, Value largest, ArrayRef<OpFoldResult> rows) {
  return linalg.map(rows, b.getF32Type(),
                    {{sum, {B, S, M, G}}, {largest, {B, S, M, G}}, {splitHeads(op.getSinks(), 0), {M, G}}},
                    [&](LinalgBuilder::Step &step) -> Value {
                      Value score = arith::SubFOp::create(step.b, toF32(step.b, step.in[2]), step.in[1]);
                      return arith::AddFOp::create(step.b, step.in[0], math::ExpOp::create(step.b, score));
                    });
}

Value AttentionBuilder::build() {
  Value query = splitHeads(op.getQuery(), 2);
  SmallVector<OpFoldResult> loops = linalg.sizes(query);
  loops.insert(loops.begin() + L, linalg.size(op.getKey(), 2));
  ArrayRef<OpFoldResult> keys = ArrayRef(loops).drop_back(), rows = keys.drop_back();
  Value scores = buildScores(query, loops);
  Type f32 = b.getF32Type();
  TypedAttr lowest = b.getF32FloatAttr(-std::numeric_limits<float>::infinity());
  Value largest = linalg.reduce(keys, L, lowest, {{scores, {B, S, M, G, L}}}, [&](LinalgBuilder::Step &step) -> Value {
    return arith::MaximumFOp::create(step.b, step.acc, step.in[0]);
  });
  if (op.getSinks())
    largest = largestWithSinks(largest, rows);
  // Where no key is seen, both are minus infinity and the difference is no number: such terms are zero.
  Value zero = constantF32(b, 0), none = constantF32(b, -std::numeric_limits<float>::infinity());
  Value terms = linalg.map(
      keys, f32, {{scores, {B, S, M, G, L}}, {largest, {B, S, M, G}}}, [&](LinalgBuilder::Step &step) -> Value {
        Value hidden = arith::CmpFOp::create(step.b, arith::CmpFPredicate::OEQ, step.in[0], none);
        Value exp = math::ExpOp::create(step.b, arith::SubFOp::create(step.b, step.in[0], step.in[1]));
        return arith::SelectOp::create(step.b, hidden, zero, exp);
      });
  Value sum =
      linalg.reduce(keys, L, b.getF32FloatAttr(0), {{terms, {B, S, M, G, L}}}, [&](LinalgBuilder::Step &step) -> Value {
        return arith::AddFOp::create(step.b, step.acc, step.in[0]);
      });
  if (op.getSinks())
    sum = sumWithSinks(sum, largest, rows);
  // Loops of the second product: the elements of the values' heads are kept, the keys are summed.
  SmallVector<OpFoldResult> product(rows);
  int64_t width = staticSize({{op.getValue(), 3}, {op.getResult(), 3}});
  product.append({b.getIndexAttr(width), loops[L]});
  int64_t d = rows.size(), l = d + 1;
  Value weighted = linalg.reduce(product, l, b.getF32FloatAttr(0),
                                 {{terms, {B, S, M, G, l}}, {op.getValue(), {B, M, l, d}}}, addProductF32);
  product.pop_back();
  Type element = elementOf(op.getResult());
  Value result = linalg.map(product, element, {{weighted, {B, S, M, G, d}}, {sum, {B, S, M, G}}},
                            [&](LinalgBuilder::Step &step) -> Value {
                              Value empty = arith::CmpFOp::create(step.b, arith::CmpFPredicate::OEQ, step.in[1], zero);
                              Value mean = arith::DivFOp::create(step.b, step.in[0], step.in[1]);
                              return fromF32(step.b, arith::SelectOp::create(step.b, empty, zero, mean), element);
                            });
  SmallVector<ReassociationIndices> joined = {{0}, {1}, {2, 3}, {4}};
  result = tensor::CollapseShapeOp::create(b, result, joined);
  return linalg.cast(result, op.getType());
}

struct DecomposeAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, AttentionBuilder(op, rewriter).build());
    return success();
  }
};
} // namespace

void nn::populateDecomposeAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeRope, DecomposeCacheUpdate, DecomposeAttention>(patterns.getContext());
}
