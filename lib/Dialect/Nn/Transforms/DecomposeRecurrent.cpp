//===- DecomposeRecurrent.cpp - causal_conv, scan as linalg -------------------------------------------------------===//

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

namespace {
struct DecomposeCausalConv : Decomposition<CausalConvOp> {
  using Decomposition::Decomposition;

  Value build(CausalConvOp op, ImplicitLocOpBuilder &b, LinalgBuilder &linalg) const override {
    enum { B, C, L, K };
    Value x = op.getX();
    SmallVector<OpFoldResult> loops = linalg.sizes(x);
    loops.push_back(linalg.size(op.getWeight(), 1));
    Value before = arith::SubIOp::create(b, toIndex(b, loops[K]), constantIndex(b, 1));
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(elementOf(x)));
    Value sum = linalg.reduce(
        loops, K, b.getF32FloatAttr(0), {{op.getWeight(), {C, K}}}, [&](LinalgBuilder::Step &step) -> Value {
          ImplicitLocOpBuilder &at = step.b;
          Value place = arith::AddIOp::create(at, step.index(L), step.index(K));
          Value exists = arith::CmpIOp::create(at, arith::CmpIPredicate::sge, place, before);
          SmallVector<Value> source = {step.index(B), step.index(C), arith::SubIOp::create(at, place, before)};
          auto column = scf::IfOp::create(
              at, exists,
              [&](OpBuilder &nested, Location loc) {
                scf::YieldOp::create(nested, loc, tensor::ExtractOp::create(nested, loc, x, source).getResult());
              },
              [&](OpBuilder &nested, Location loc) { scf::YieldOp::create(nested, loc, zero); });
          Value product = arith::MulFOp::create(at, toF32(at, step.in[0]), toF32(at, column.getResult(0)));
          return arith::AddFOp::create(at, step.acc, product);
        });
    loops.pop_back();
    SmallVector<LinalgBuilder::Operand> operands = {{sum, {B, C, L}}};
    if (op.getBias())
      operands.push_back({op.getBias(), {C}});
    return linalg.map(loops, elementOf(x), operands, [&](LinalgBuilder::Step &step) -> Value {
      Value value = step.in[0];
      if (op.getBias())
        value = arith::AddFOp::create(step.b, value, toF32(step.b, step.in[1]));
      return fromF32(step.b, op.getSilu() ? siluF32(step.b, value) : value, elementOf(x));
    });
  }
};

/// Head n = m * G + g reads query and key m.
class ScanBuilder {
public:
  ScanBuilder(ScanOp op, PatternRewriter &rewriter)
      : op(op), b(op.getLoc(), rewriter), linalg(b), state(linalg.sizes(op.getState())),
        group(op.sizeOf("N") / op.sizeOf("M")) {}

  SmallVector<Value> build();

private:
  enum { B, N, K, V };

  /// The element of a sequence `[B, S, ..]` at step `t`.
  Value at(LinalgBuilder::Step &step, Value tensor, ArrayRef<Value> rest) {
    SmallVector<Value> indices = {step.index(B), t};
    llvm::append_range(indices, rest);
    return toF32(step.b, tensor::ExtractOp::create(step.b, tensor, indices));
  }
  Value ofKeyHead(LinalgBuilder::Step &step, Value tensor, int64_t channel) {
    Value head = arith::DivUIOp::create(step.b, step.index(N), constantIndex(step.b, group));
    return at(step, tensor, {head, step.index(channel)});
  }
  Value decay(Value matrices);
  /// matrices^T . vector, for each head: [B, N, V].
  Value read(Value matrices, Value vectors);

  ScanOp op;
  ImplicitLocOpBuilder b;
  LinalgBuilder linalg;
  SmallVector<OpFoldResult> state; ///< sizes [B, N, K, V]
  int64_t group;
  Value t;
};
} // namespace

Value ScanBuilder::decay(Value matrices) {
  return linalg.map(state, b.getF32Type(), {{matrices, {B, N, K, V}}}, [&](LinalgBuilder::Step &step) -> Value {
    SmallVector<Value> place = {step.index(N)};
    if (op.getRates() || op.hasChannelDecay())
      place.push_back(step.index(op.getRates() ? V : K));
    Value power = at(step, op.getDecay(), place);
    if (op.getRates()) {
      Value rate = tensor::ExtractOp::create(step.b, op.getRates(),
                                             ValueRange{step.index(N), step.index(K), step.index(V)});
      power = arith::MulFOp::create(step.b, power, rate);
    }
    return arith::MulFOp::create(step.b, math::ExpOp::create(step.b, power), step.in[0]);
  });
}

Value ScanBuilder::read(Value matrices, Value vectors) {
  SmallVector<OpFoldResult> loops = {state[B], state[N], state[V], state[K]};
  return linalg.reduce(loops, 3, b.getF32FloatAttr(0), {{matrices, {0, 1, 3, 2}}},
                       [&](LinalgBuilder::Step &step) -> Value {
                         Value product = arith::MulFOp::create(step.b, ofKeyHead(step, vectors, 3), step.in[0]);
                         return arith::AddFOp::create(step.b, step.acc, product);
                       });
}

SmallVector<Value> ScanBuilder::build() {
  SmallVector<OpFoldResult> sizes = linalg.sizes(op.getValue());
  sizes[2] = state[N];
  sizes[3] = state[V];
  Value rows = tensor::EmptyOp::create(b, sizes, elementOf(op.getResult()));
  auto steps = scf::ForOp::create(b, constantIndex(b, 0), toIndex(b, sizes[1]), constantIndex(b, 1),
                                  ValueRange{rows, op.getState()});
  b.setInsertionPointToStart(steps.getBody());
  t = steps.getInductionVar();
  Value decayed = decay(steps.getRegionIterArgs()[1]);
  Value found = op.getBeta() ? read(decayed, op.getKey()) : Value();
  SmallVector<LinalgBuilder::Operand> operands = {{decayed, {B, N, K, V}}};
  if (found)
    operands.push_back({found, {B, N, V}});
  Value next = linalg.map(state, b.getF32Type(), operands, [&](LinalgBuilder::Step &step) -> Value {
    Value taken = at(step, op.getValue(), {step.index(N), step.index(V)});
    if (found) {
      taken = arith::SubFOp::create(step.b, taken, step.in[1]);
      taken = arith::MulFOp::create(step.b, at(step, op.getBeta(), {step.index(N)}), taken);
    }
    Value product = arith::MulFOp::create(step.b, ofKeyHead(step, op.getKey(), K), taken);
    return arith::AddFOp::create(step.b, step.in[0], product);
  });
  SmallVector<OpFoldResult> heads = {state[B], state[N], state[V]};
  Value row = linalg.map(heads, elementOf(op.getResult()), {{read(next, op.getQuery()), {0, 1, 2}}},
                         [&](LinalgBuilder::Step &step) { return fromF32(step.b, step.in[0], elementOf(op.getResult())); });
  SmallVector<OpFoldResult> zero(4, b.getIndexAttr(0)), one(4, b.getIndexAttr(1));
  zero[1] = t;
  SmallVector<OpFoldResult> slice = {state[B], b.getIndexAttr(1), state[N], state[V]};
  Value after = tensor::InsertSliceOp::create(b, row, steps.getRegionIterArgs()[0], zero, slice, one);
  scf::YieldOp::create(b, ValueRange{after, next});
  b.setInsertionPointAfter(steps);
  return {linalg.cast(steps.getResult(0), op.getResult().getType()), steps.getResult(1)};
}

namespace {
struct DecomposeScan : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, ScanBuilder(op, rewriter).build());
    return success();
  }
};
} // namespace

void nn::populateDecomposeRecurrentPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeCausalConv, DecomposeScan>(patterns.getContext());
}
