//===- Constants.cpp - dense constants --------------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
struct ConstantLowering : GraphPattern<arith::ConstantOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(arith::ConstantOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto elements = dyn_cast<ElementsAttr>(op.getValue());
    if (!elements)
      return failure();
    Location loc = op.getLoc();
    MemRefType type = memrefOf(op.getResult());
    if (SplatValue splat = splatOf(op.getResult()); splat && type.getNumElements() > 16) {
      // Cheaper to write than to keep in the object file; kernels take the scalar itself.
      Value result = memref::AllocOp::create(rewriter, loc, type);
      if (llvm::any_of(op->getUsers(), [](Operation *user) { return !isa<linalg::GenericOp>(user); }))
        emitFill(lowering, rewriter, loc, arith::ConstantOp::create(rewriter, loc, splat.constant), result);
      rewriter.replaceOp(op, result);
      return success();
    }
    rewriter.replaceOp(op, emitTable(lowering, rewriter, loc, elements, type));
    return success();
  }
};
} // namespace

void mlir::kernel::populateConstantPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                            RewritePatternSet &patterns) {
  patterns.add<ConstantLowering>(converter, lowering);
}
