//===- Rope.cpp - nn.rope: rotary position embedding ------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
struct RopeLowering : GraphPattern<nn::RopeOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(nn::RopeOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(adaptor.getX().getType());
    SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, adaptor.getX());
    Value result = allocate(rewriter, loc, memrefOf(op.getResult()), sizes);

    KernelBuilder kernel(lowering.kernels, loc);
    Value x = kernel.arg(adaptor.getX()), cos = kernel.arg(adaptor.getCos()), sin = kernel.arg(adaptor.getSin());
    Value y = kernel.arg(result);
    Value half = kernel.div(kernel.dim(x, 3), kernel.idx(2));
    // One row of angles may serve the whole batch.
    auto batchOf = [&](Value angles, Value b) -> Value {
      int64_t batch = cast<MemRefType>(angles.getType()).getDimSize(0);
      if (batch == 1)
        return kernel.idx(0);
      if (batch != ShapedType::kDynamic)
        return b;
      return kernel.min(b, kernel.sub(kernel.dim(angles, 0), kernel.idx(1)));
    };
    kernel.forall({kernel.dim(x, 0), kernel.dim(x, 1), kernel.dim(x, 2)}, [&](ValueRange row) {
      Value cosBatch = batchOf(cos, row[0]), sinBatch = batchOf(sin, row[0]);
      kernel.loop(kernel.idx(0), half, 1, [&](Value d) {
        Value upper = kernel.add(d, half);
        auto angle = [&](Value table, Value batch, Value at) {
          return kernel.toF32(kernel.load(table, {batch, row[1], at}));
        };
        auto rotate = [&](Value at, Value self, Value other, bool negate) {
          Value straight = arith::MulFOp::create(kernel, self, angle(cos, cosBatch, at));
          Value turned = arith::MulFOp::create(kernel, other, angle(sin, sinBatch, at));
          Value sum = negate ? arith::SubFOp::create(kernel, straight, turned).getResult()
                             : arith::AddFOp::create(kernel, straight, turned).getResult();
          kernel.store(kernel.convert(sum, type.getElementType()), y, {row[0], row[1], row[2], at});
        };
        Value low = kernel.toF32(kernel.load(x, {row[0], row[1], row[2], d}));
        Value high = kernel.toF32(kernel.load(x, {row[0], row[1], row[2], upper}));
        rotate(d, low, high, /*negate=*/true);
        rotate(upper, high, low, /*negate=*/false);
      });
    });
    OpFoldResult rows = mulSizes(rewriter, loc, ArrayRef(sizes).drop_back(2));
    kernel.launch(rewriter, "rope_" + shapeName(type.getShape().take_back(2)) + "_" + typeName(type.getElementType()),
                  rows, mulSizes(rewriter, loc, {rows, sizes[2], sizes[3], rewriter.getIndexAttr(3)}));
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void mlir::kernel::populateRopePatterns(const TypeConverter &converter, GraphLowering &lowering,
                                        RewritePatternSet &patterns) {
  patterns.add<RopeLowering>(converter, lowering);
}
