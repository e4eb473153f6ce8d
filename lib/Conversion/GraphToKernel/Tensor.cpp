//===- Tensor.cpp - views, sizes and single elements ------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
struct EmptyLowering : GraphPattern<tensor::EmptyOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::EmptyOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    // Only its sizes are read; the buffer dies unless somebody really takes it as data.
    rewriter.replaceOpWithNewOp<memref::AllocOp>(op, memrefOf(op.getResult()), adaptor.getDynamicSizes());
    return success();
  }
};

struct DimLowering : GraphPattern<tensor::DimOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::DimOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (std::optional<int64_t> dim = op.getConstantIndex()) {
      OpFoldResult size = sizeOf(rewriter, op.getLoc(), adaptor.getSource(), *dim);
      rewriter.replaceOp(op, getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), size));
    } else {
      rewriter.replaceOpWithNewOp<memref::DimOp>(op, adaptor.getSource(), adaptor.getIndex());
    }
    return success();
  }
};

struct CastLowering : GraphPattern<tensor::CastOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::CastOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<memref::CastOp>(op, memrefOf(op.getResult()), adaptor.getSource());
    return success();
  }
};

struct CollapseLowering : GraphPattern<tensor::CollapseShapeOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::CollapseShapeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<memref::CollapseShapeOp>(op, memrefOf(op.getResult()), adaptor.getSrc(),
                                                         op.getReassociationIndices());
    return success();
  }
};

struct ExpandLowering : GraphPattern<tensor::ExpandShapeOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<memref::ExpandShapeOp>(
        op, memrefOf(op.getResult()), adaptor.getSrc(), op.getReassociationIndices(),
        getMixedValues(op.getStaticOutputShape(), adaptor.getOutputShape(), rewriter));
    return success();
  }
};

/// A reshape to sizes that are known one by one (checked by checkSupported).
struct ReshapeLowering : GraphPattern<tensor::ReshapeOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::ReshapeOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MemRefType type = memrefOf(op.getResult());
    auto shape = op.getShape().getDefiningOp<tensor::FromElementsOp>();
    SmallVector<OpFoldResult> sizes, strides(type.getRank(), rewriter.getIndexAttr(1));
    for (int64_t i = 0; i < type.getRank(); ++i) {
      if (!type.isDynamicDim(i)) {
        sizes.push_back(rewriter.getIndexAttr(type.getDimSize(i)));
        continue;
      }
      Value size = rewriter.getRemappedValue(shape.getElements()[i]);
      if (!size.getType().isIndex())
        size = arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(), size);
      sizes.push_back(size);
    }
    for (int64_t i = type.getRank() - 2; i >= 0; --i)
      strides[i] = mulSizes(rewriter, loc, {strides[i + 1], sizes[i + 1]});
    rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(op, type, adaptor.getSource(), rewriter.getIndexAttr(0),
                                                           sizes, strides);
    return success();
  }
};

struct FromElementsLowering : GraphPattern<tensor::FromElementsOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::FromElementsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value result = allocate(rewriter, loc, memrefOf(op.getResult()), {});
    // A reshape reads its sizes one by one; the buffer is then unused and dies.
    if (llvm::all_of(op->getUsers(), [](Operation *user) { return isa<tensor::ReshapeOp>(user); })) {
      rewriter.replaceOp(op, result);
      return success();
    }
    Value flat = asVector(rewriter, loc, result);
    KernelBuilder kernel(lowering.kernels, loc);
    Value dest = kernel.arg(flat);
    for (auto [i, element] : llvm::enumerate(adaptor.getElements()))
      kernel.store(kernel.arg(element), dest, kernel.idx(i));
    auto count = rewriter.getIndexAttr(op.getElements().size());
    Type element = getElementTypeOrSelf(flat);
    kernel.launch(rewriter, "from_elements_" + std::to_string(count.getInt()) + "_" + typeName(element), count, count,
                  /*single=*/true);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct ExtractLowering : GraphPattern<tensor::ExtractOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(tensor::ExtractOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<memref::LoadOp>(op, adaptor.getTensor(), adaptor.getIndices());
    return success();
  }
};
} // namespace

void mlir::kernel::populateTensorPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                          RewritePatternSet &patterns) {
  patterns.add<EmptyLowering, DimLowering, CastLowering, CollapseLowering, ExpandLowering, ReshapeLowering,
               FromElementsLowering, ExtractLowering>(converter, lowering);
}
