//===- DecomposeTopK.cpp - top_k as linalg: each element compared with each ---------------------------------------===//

#include "Decomposition.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Dialect/Nn/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::nn;
using namespace moe_mlir;

/// Whether element `x` at `i` comes before `y` at `j`.
static Value isBefore(ImplicitLocOpBuilder &b, bool ascending, Value x, Value i, Value y, Value j) {
  Value first, equal;
  if (isa<FloatType>(x.getType())) {
    auto compare = [&](arith::CmpFPredicate predicate, Value u, Value v) -> Value {
      return arith::CmpFOp::create(b, predicate, u, v);
    };
    // NaN is larger than any number, and equal to NaN.
    Value xNan = compare(arith::CmpFPredicate::UNO, x, x), yNan = compare(arith::CmpFPredicate::UNO, y, y);
    Value larger = compare(arith::CmpFPredicate::OGT, x, y), smaller = compare(arith::CmpFPredicate::OLT, x, y);
    Value both = arith::AndIOp::create(b, xNan, yNan), one = arith::XOrIOp::create(b, xNan, yNan);
    first = arith::OrIOp::create(b, ascending ? smaller : larger,
                                 arith::AndIOp::create(b, one, ascending ? yNan : xNan));
    equal = arith::OrIOp::create(b, both, compare(arith::CmpFPredicate::OEQ, x, y));
  } else {
    first = arith::CmpIOp::create(b, ascending ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sgt, x, y);
    equal = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
  }
  Value earlier = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, i, j);
  return arith::OrIOp::create(b, first, arith::AndIOp::create(b, equal, earlier));
}

static Value countIf(LinalgBuilder::Step &step, Value holds) {
  Value one = arith::ExtUIOp::create(step.b, step.b.getI64Type(), holds);
  return arith::AddIOp::create(step.b, step.acc, one);
}

namespace {
struct DecomposeTopK : OpRewritePattern<TopKOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TopKOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    LinalgBuilder linalg(b);
    SmallVector<OpFoldResult> sizes = linalg.sizes(op.getX()), pairs = sizes, taken = sizes;
    int64_t last = sizes.size() - 1;
    pairs.push_back(sizes.back());
    taken.push_back(sizes.back());
    taken[last] = op.getCount() ? OpFoldResult(op.getCount()) : linalg.size(op.getIndices(), last);
    Value k = arith::IndexCastOp::create(b, b.getI64Type(), toIndex(b, taken[last]));
    SmallVector<int64_t> own = llvm::to_vector(llvm::seq<int64_t>(0, last + 1)), other = own;
    other[last] = last + 1;
    auto isTaken = [&](LinalgBuilder::Step &step) -> Value {
      return arith::CmpIOp::create(step.b, arith::CmpIPredicate::slt, step.in[0], k);
    };

    // How many elements come before each one.
    Value places = linalg.reduce(pairs, last + 1, b.getI64IntegerAttr(0), {{op.getX(), own}, {op.getX(), other}},
                                 [&](LinalgBuilder::Step &step) -> Value {
                                   return countIf(step, isBefore(step.b, op.getAscending(), step.in[1],
                                                                 step.index(last + 1), step.in[0], step.index(last)));
                                 });
    if (op.getUnordered()) {
      Value ranks = places;
      Value before = linalg.reduce(pairs, last + 1, b.getI64IntegerAttr(0), {{ranks, other}},
                                   [&](LinalgBuilder::Step &step) -> Value {
                                     Value isEarlier = arith::CmpIOp::create(step.b, arith::CmpIPredicate::ult,
                                                                             step.index(last + 1), step.index(last));
                                     return countIf(step, arith::AndIOp::create(step.b, isTaken(step), isEarlier));
                                   });
      auto place = [&](LinalgBuilder::Step &step) -> Value {
        return arith::SelectOp::create(step.b, isTaken(step), step.in[1], k);
      };
      places = linalg.map(sizes, b.getI64Type(), {{ranks, own}, {before, own}}, place);
    }
    auto pick = [&](TypedAttr none, bool index) {
      return linalg.reduce(taken, last + 1, none, {{places, other}, {op.getX(), other}},
                           [&](LinalgBuilder::Step &step) -> Value {
                             Type i64 = step.b.getI64Type();
                             Value wanted = arith::IndexCastOp::create(step.b, i64, step.index(last));
                             Value isHere = arith::CmpIOp::create(step.b, arith::CmpIPredicate::eq, step.in[0], wanted);
                             Value value = step.in[1];
                             if (index)
                               value = arith::IndexCastOp::create(step.b, i64, step.index(last + 1));
                             return arith::SelectOp::create(step.b, isHere, value, step.acc);
                           });
    };
    Value values = pick(b.getZeroAttr(elementOf(op.getX())), /*index=*/false);
    Value indices = pick(b.getI64IntegerAttr(0), /*index=*/true);
    rewriter.replaceOp(op, {linalg.cast(values, op.getValues().getType()),
                            linalg.cast(indices, op.getIndices().getType())});
    return success();
  }
};
} // namespace

void nn::populateDecomposeTopKPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeTopK>(patterns.getContext());
}
