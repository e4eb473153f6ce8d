//===- DecomposeRows.cpp - embedding, linear, batch_linear, rms_norm, silu as linalg ------------------------------===//

#include "Decomposition.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Dialect/Nn/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::nn;
using namespace moe_mlir;

/// The numbers first, first + 1, ..., last - 1.
static SmallVector<int64_t> range(int64_t first, int64_t last) {
  return llvm::to_vector(llvm::seq<int64_t>(first, last));
}

namespace {
struct DecomposeEmbedding : Decomposition<EmbeddingOp> {
  using Decomposition::Decomposition;

  bool isWhole(EmbeddingOp op) const override { return !op.getAt(); }

  Value build(EmbeddingOp op, ImplicitLocOpBuilder &b, LinalgBuilder &linalg) const override {
    SmallVector<OpFoldResult> loops = linalg.sizes(op.getIds());
    int64_t rows = loops.size();
    loops.push_back(linalg.size(op.getTable(), 1));
    return linalg.map(loops, elementOf(op.getTable()), {{op.getIds(), range(0, rows)}},
                      [&](LinalgBuilder::Step &step) -> Value {
                        Value row = toIndex(step.b, step.in[0]);
                        return tensor::ExtractOp::create(step.b, op.getTable(), ValueRange{row, step.index(rows)});
                      });
  }
};

/// Of a batch of matrices, the row dimension before the last one says which one a row meets.
template <typename Op> struct DecomposeProduct : Decomposition<Op> {
  using Decomposition<Op>::Decomposition;

  Value build(Op op, ImplicitLocOpBuilder &b, LinalgBuilder &linalg) const override {
    SmallVector<OpFoldResult> loops = linalg.sizes(op.getX());
    const int64_t rows = loops.size() - 1, n = rows, k = rows + 1;
    const int64_t batch = cast<ShapedType>(op.getWeight().getType()).getRank() - 2;
    loops.insert(loops.begin() + n, linalg.size(op.getWeight(), batch));
    SmallVector<int64_t> xLoops = range(0, rows), columnLoops = range(rows - batch, rows + 1);
    xLoops.push_back(k);
    SmallVector<int64_t> weightLoops(columnLoops);
    weightLoops.push_back(k);
    Value sum = linalg.reduce(loops, k, b.getF32FloatAttr(0), {{op.getX(), xLoops}, {op.getWeight(), weightLoops}},
                              addProductF32);
    loops.pop_back();
    SmallVector<LinalgBuilder::Operand> operands = {{sum, range(0, k)}};
    if (op.getBias())
      operands.push_back({op.getBias(), columnLoops});
    return linalg.map(loops, elementOf(op.getResult()), operands, [&](LinalgBuilder::Step &step) -> Value {
      Value value = step.in[0];
      if (op.getBias())
        value = arith::AddFOp::create(step.b, value, toF32(step.b, step.in[1]));
      return fromF32(step.b, value, elementOf(op.getResult()));
    });
  }
};

struct DecomposeRmsNorm : Decomposition<RmsNormOp> {
  using Decomposition::Decomposition;

  Value build(RmsNormOp op, ImplicitLocOpBuilder &b, LinalgBuilder &linalg) const override {
    SmallVector<OpFoldResult> loops = linalg.sizes(op.getX());
    int64_t rank = loops.size(), rows = rank - 1;
    Value squares = linalg.reduce(loops, rows, b.getF32FloatAttr(0), {{op.getX(), range(0, rank)}},
                                  [&](LinalgBuilder::Step &step) -> Value {
                                    Value x = toF32(step.b, step.in[0]);
                                    Value square = arith::MulFOp::create(step.b, x, x);
                                    return arith::AddFOp::create(step.b, step.acc, square);
                                  });
    Value n = arith::IndexCastOp::create(b, b.getI64Type(), toIndex(b, loops.back()));
    Value count = arith::SIToFPOp::create(b, b.getF32Type(), n);
    Value eps = constantF32(b, op.getEps().convertToDouble());
    Value factor = linalg.map(ArrayRef(loops).drop_back(), b.getF32Type(), {{squares, range(0, rows)}},
                              [&](LinalgBuilder::Step &step) -> Value {
                                Value mean = arith::DivFOp::create(step.b, step.in[0], count);
                                return math::RsqrtOp::create(step.b, arith::AddFOp::create(step.b, mean, eps));
                              });
    Type element = elementOf(op.getX());
    return linalg.map(loops, element, {{op.getX(), range(0, rank)}, {factor, range(0, rows)}, {op.getWeight(), {rows}}},
                      [&](LinalgBuilder::Step &step) -> Value {
                        Value normal = arith::MulFOp::create(step.b, toF32(step.b, step.in[0]), step.in[1]);
                        if (!op.getFusedScale())
                          normal = toF32(step.b, fromF32(step.b, normal, element));
                        return fromF32(step.b, arith::MulFOp::create(step.b, toF32(step.b, step.in[2]), normal),
                                       element);
                      });
  }
};

struct DecomposeSilu : OpRewritePattern<SiluOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SiluOp op, PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type element = elementOf(op.getInput());
    if (element.isF64())
      return rewriter.notifyMatchFailure(op, "f64 would lose bits in f32");
    if (isa<UnrankedTensorType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "no rank, so no loops");
    auto silu = [&](ImplicitLocOpBuilder &at, Value x) { return fromF32(at, siluF32(at, toF32(at, x)), element); };
    if (!isa<TensorType>(op.getType())) {
      rewriter.replaceOp(op, silu(b, op.getInput()));
      return success();
    }
    LinalgBuilder linalg(b);
    SmallVector<OpFoldResult> loops = linalg.sizes(op.getInput());
    SmallVector<int64_t> all = range(0, loops.size());
    Value result = linalg.map(loops, element, {{op.getInput(), all}},
                              [&](LinalgBuilder::Step &step) { return silu(step.b, step.in[0]); });
    rewriter.replaceOp(op, linalg.cast(result, op.getType()));
    return success();
  }
};
} // namespace

void nn::populateDecomposeRowsPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeEmbedding, DecomposeProduct<LinearOp>, DecomposeProduct<BatchLinearOp>, DecomposeRmsNorm,
               DecomposeSilu>(patterns.getContext());
}
