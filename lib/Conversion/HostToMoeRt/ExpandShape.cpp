//===- ExpandShape.cpp - memref.expand_shape by the sizes that it states ------------------------------------------===//

#include "ExpandShape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace {
struct ExpandByStatedSizes : OpRewritePattern<memref::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(memref::ExpandShapeOp op, PatternRewriter &rewriter) const override {
    MemRefType type = op.getResultType();
    SmallVector<ReassociationIndices> groups = op.getReassociationIndices();
    bool inferable = llvm::all_of(groups, [&](const ReassociationIndices &group) {
      return llvm::count_if(group, [&](int64_t dim) { return type.isDynamicDim(dim); }) <= 1;
    });
    if (inferable)
      return failure();
    Location loc = op.getLoc();
    auto source = memref::ExtractStridedMetadataOp::create(rewriter, loc, op.getSrc());
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape(), strides(sizes.size());
    SmallVector<OpFoldResult> sourceStrides = source.getConstifiedMixedStrides();
    auto multiply = [&](OpFoldResult a, OpFoldResult b) -> OpFoldResult {
      std::optional<int64_t> first = getConstantIntValue(a), second = getConstantIntValue(b);
      if (first && second)
        return rewriter.getIndexAttr(*first * *second);
      return arith::MulIOp::create(rewriter, loc, getValueOrCreateConstantIndexOp(rewriter, loc, a),
                                   getValueOrCreateConstantIndexOp(rewriter, loc, b))
          .getResult();
    };
    for (auto [group, stride] : llvm::zip_equal(groups, sourceStrides))
      for (int64_t dim : llvm::reverse(group)) {
        strides[dim] = stride;
        stride = multiply(stride, sizes[dim]);
      }
    rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(op, type, source.getBaseBuffer(),
                                                           source.getConstifiedMixedOffset(), sizes, strides);
    return success();
  }
};
} // namespace

void moert::populateExpandShapePatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandByStatedSizes>(patterns.getContext(), /*benefit=*/2);
}
