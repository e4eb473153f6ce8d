//===- CausalConv.cpp - nn.causal_conv: a row program ---------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
struct CausalConvLowering : GraphPattern<nn::CausalConvOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(nn::CausalConvOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, adaptor.getX());
    Value buffer = allocate(rewriter, loc, memrefOf(op.getResult()), sizes);
    auto type = cast<MemRefType>(buffer.getType());

    KernelBuilder k(lowering.kernels, loc);
    Value x = k.arg(adaptor.getX()), weight = k.arg(adaptor.getWeight()), result = k.arg(buffer);
    Value bias = adaptor.getBias() ? k.arg(adaptor.getBias()) : Value();
    const int64_t taps = cast<MemRefType>(weight.getType()).getDimSize(1);
    Value length = k.indexArg(sizes[2]), before = k.idx(taps - 1), zero = k.idx(0);
    k.forall({k.indexArg(sizes[0]), k.indexArg(sizes[1])}, [&](ValueRange row) {
      Value b = row[0], c = row[1];
      Value first = bias ? k.toF32(k.load(bias, c)) : k.f32(0.0);
      auto addTap = [&](Value sum, Value tap, Value column) -> Value {
        Value factor = k.toF32(k.load(weight, {c, tap}));
        return math::FmaOp::create(k, factor, k.toF32(k.load(x, {b, c, column})), sum);
      };
      auto store = [&](Value sum, Value column) {
        k.store(k.convert(op.getSilu() ? emitSilu(k, sum) : sum, type.getElementType()), result, {b, c, column});
      };
      // The first columns have fewer before them than the weight has taps.
      Value end = k.min(before, length);
      k.loop(zero, end, 1, [&](Value column) {
        store(k.loop(k.sub(before, column), k.idx(taps), 1, first,
                     [&](Value tap, ValueRange sum) {
                       return SmallVector<Value>{addTap(sum[0], tap, k.sub(k.add(column, tap), before))};
                     })[0],
              column);
      });
      k.independentLoop(end, length, [&](Value column) {
        Value sum = first, oldest = k.sub(column, before);
        if (taps <= maxUnrolledTaps)
          for (int64_t tap = 0; tap < taps; ++tap)
            sum = addTap(sum, k.idx(tap), k.add(oldest, k.idx(tap)));
        else
          sum = k.loop(zero, k.idx(taps), 1, sum, [&](Value tap, ValueRange carried) {
            return SmallVector<Value>{addTap(carried[0], tap, k.add(oldest, tap))};
          })[0];
        store(sum, column);
      });
    });
    OpFoldResult rows = mulSizes(rewriter, loc, {sizes[0], sizes[1]});
    k.launch(rewriter,
             "causal_conv_" + shapeName({type.getDimSize(1), taps}) + (op.getSilu() ? "_silu_" : "_") +
                 typeName(type.getElementType()),
             rows, mulSizes(rewriter, loc, {rows, sizes[2], rewriter.getIndexAttr(2 * taps)}));
    rewriter.replaceOp(op, buffer);
    return success();
  }

private:
  /// Written out, the sum of so many lets the loop over columns be one of vectors.
  static constexpr int64_t maxUnrolledTaps = 16;
};
} // namespace

void mlir::kernel::populateCausalConvPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                              RewritePatternSet &patterns) {
  patterns.add<CausalConvLowering>(converter, lowering);
}
