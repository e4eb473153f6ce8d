//===- FuseElementwise.cpp - fusion of elementwise linalg ops ---------------------------------------------------===//

#include "moe-mlir/Conversion/GraphToKernel/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHFUSEELEMENTWISE
#include "moe-mlir/Conversion/GraphToKernel/Passes.h.inc"
} // namespace mlir::kernel

/// Whether the consumer of `operand` is the only op that reads the elements of its producer.
static bool isOnlyReader(OpOperand *operand) {
  Operation *producer = operand->get().getDefiningOp();
  return producer && producer->getNumResults() == 1 && llvm::all_of(producer->getUsers(), [&](Operation *user) {
           return user == operand->getOwner() || isa<tensor::DimOp>(user);
         });
}

namespace {
/// An output that the body does not read only gives the result's shape: take it from a tensor.empty.
struct DropOutputValue : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op, PatternRewriter &rewriter) const override {
    if (op.getNumReductionLoops())
      return failure();
    bool changed = false;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      if (!op.getMatchingBlockArgument(&init).use_empty() || init.get().getDefiningOp<tensor::EmptyOp>())
        continue;
      SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, op.getLoc(), init.get());
      Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), sizes, getElementTypeOrSelf(init.get()));
      rewriter.modifyOpInPlace(op, [&] { init.set(empty); });
      changed = true;
    }
    return success(changed);
  }
};

struct GraphFuseElementwise : kernel::impl::GraphFuseElementwiseBase<GraphFuseElementwise> {
  void runOnOperation() override {
    // A fill stays what it is: its users take the scalar.
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](linalg::LinalgOp op) {
      if (isa<linalg::GenericOp, linalg::FillOp>(op))
        return;
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op); // what stays is reported by convert-graph-to-kernel
    });
    RewritePatternSet patterns(&getContext());
    patterns.add<DropOutputValue>(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, isOnlyReader);
    linalg::populateConstantFoldLinalgOperations(patterns, isOnlyReader);
    memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
    linalg::FillOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::DimOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::EmptyOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::CastOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
