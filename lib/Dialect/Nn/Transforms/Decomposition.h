//===- Decomposition.h - an op as linalg ----------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DIALECT_NN_TRANSFORMS_DECOMPOSITION_H
#define MOE_MLIR_LIB_DIALECT_NN_TRANSFORMS_DECOMPOSITION_H

#include "moe-mlir/Support/LinalgBuilder.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::nn {

/// Replaces every `OpTy` by what `build` says. The two types may differ in which sizes are static.
template <typename OpTy> struct Decomposition : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  virtual Value build(OpTy op, ImplicitLocOpBuilder &b, moe_mlir::LinalgBuilder &linalg) const = 0;
  /// Whether the op is one of a program that knows no ranks.
  virtual bool isWhole(OpTy) const { return true; }

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const final {
    if (!isWhole(op))
      return rewriter.notifyMatchFailure(op, "computes a part for this rank");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    moe_mlir::LinalgBuilder linalg(b);
    Value result = build(op, b, linalg);
    rewriter.replaceOp(op, linalg.cast(result, op.getType()));
    return success();
  }
};

} // namespace mlir::nn

#endif // MOE_MLIR_LIB_DIALECT_NN_TRANSFORMS_DECOMPOSITION_H
