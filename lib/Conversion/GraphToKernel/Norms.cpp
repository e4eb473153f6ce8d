//===- Norms.cpp - nn.rms_norm: a row program -------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
struct RmsNormLowering : GraphPattern<nn::RmsNormOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(nn::RmsNormOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, adaptor.getX());
    Value result = allocate(rewriter, loc, memrefOf(op.getResult()), sizes);
    Value xRows = asMatrix(rewriter, loc, adaptor.getX()), yRows = asMatrix(rewriter, loc, result);

    KernelBuilder kernel(lowering.kernels, loc);
    Value x = kernel.arg(xRows), weight = kernel.arg(adaptor.getWeight()), y = kernel.arg(yRows);
    Type element = getElementTypeOrSelf(x);
    Value n = kernel.dim(x, 1);
    kernel.forall({kernel.dim(x, 0)}, [&](ValueRange row) {
      Value sum = kernel.loop(kernel.idx(0), n, 1, kernel.f32(0.0), [&](Value i, ValueRange acc) {
        Value v = kernel.toF32(kernel.load(x, {row[0], i}));
        return SmallVector<Value>{kernel.reduceAdd(acc[0], arith::MulFOp::create(kernel, v, v))};
      })[0];
      Value count = arith::SIToFPOp::create(kernel, kernel.getF32Type(),
                                            arith::IndexCastOp::create(kernel, kernel.getI64Type(), n));
      Value mean = arith::DivFOp::create(kernel, sum, count);
      Value eps = kernel.f32(op.getEps().convertToDouble());
      Value scale = math::RsqrtOp::create(kernel, arith::AddFOp::create(kernel, mean, eps));
      kernel.loop(kernel.idx(0), n, 1, [&](Value i) {
        Value v = arith::MulFOp::create(kernel, kernel.toF32(kernel.load(x, {row[0], i})), scale);
        if (!op.getFusedScale())
          v = kernel.toF32(kernel.convert(v, element));
        v = arith::MulFOp::create(kernel, v, kernel.toF32(kernel.load(weight, i)));
        kernel.store(kernel.convert(v, element), y, {row[0], i});
      });
    });
    OpFoldResult rows = sizeOf(rewriter, loc, xRows, 0);
    kernel.launch(rewriter,
                  "rms_norm_" + shapeName(cast<MemRefType>(xRows.getType()).getShape().back()) + "_" +
                      typeName(element),
                  rows, mulSizes(rewriter, loc, {rows, sizes.back(), rewriter.getIndexAttr(4)}));
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void mlir::kernel::populateNormPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                        RewritePatternSet &patterns) {
  patterns.add<RmsNormLowering>(converter, lowering);
}
