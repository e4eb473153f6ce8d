//===- Embedding.cpp - nn.embedding: rows of a table ------------------------------------------------------------===//
//
// Of a table that ranks share, rows that others have are zeros.
//
//===------------------------------------------------------------------------------------------------------------===//

#include "Exchange.h"

using namespace mlir;
using namespace mlir::kernel;

namespace {
struct EmbeddingLowering : GraphPattern<nn::EmbeddingOp> {
  using GraphPattern::GraphPattern;

  LogicalResult matchAndRewrite(nn::EmbeddingOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto tableType = cast<MemRefType>(adaptor.getTable().getType());
    SmallVector<OpFoldResult> sizes = sizesOf(rewriter, loc, adaptor.getIds());
    sizes.push_back(sizeOf(rewriter, loc, adaptor.getTable(), 1));
    Value result = allocate(rewriter, loc, memrefOf(op.getResult()), sizes);
    Value ids = asVector(rewriter, loc, adaptor.getIds()), rows = asMatrix(rewriter, loc, result);

    KernelBuilder kernel(lowering.kernels, loc);
    Value idArg = kernel.arg(ids), table = kernel.arg(adaptor.getTable()), dest = kernel.arg(rows);
    Value rank = op.getAt() ? kernel.arg(Ranks(rewriter, loc, lowering.module, *op.getAt()).own) : Value();
    kernel.forall({kernel.dim(idArg, 0)}, [&](ValueRange row) {
      Value id = kernel.toIndex(kernel.load(idArg, row));
      auto copy = [&](Value from, Value end) {
        kernel.loop(kernel.idx(0), end, 1, [&](Value h) {
          Value element = kernel.load(table, {from, h});
          kernel.store(kernel.convert(element, getElementTypeOrSelf(dest)), dest, {row[0], h});
        });
      };
      Value width = kernel.dim(table, 1);
      if (!rank)
        return copy(id, width);
      Value count = kernel.dim(table, 0);
      // Rows in front of this rank's have numbers below 0, which are large without a sign.
      Value own = kernel.sub(id, kernel.mul(rank, count));
      Value isOwn = arith::CmpIOp::create(kernel, arith::CmpIPredicate::ult, own, count);
      Value end = arith::SelectOp::create(kernel, isOwn, width, kernel.idx(0));
      copy(own, end);
      Value zero = arith::ConstantOp::create(kernel, kernel.getFloatAttr(getElementTypeOrSelf(dest), 0.0));
      kernel.loop(end, width, 1, [&](Value h) { kernel.store(zero, dest, {row[0], h}); });
    });
    OpFoldResult count = sizeOf(rewriter, loc, ids, 0);
    std::string name = "embedding_" + shapeName(tableType.getShape()) + "_" + typeName(tableType.getElementType());
    kernel.launch(rewriter, name + (rank ? "_part" : ""), count,
                  mulSizes(rewriter, loc, {count, sizes.back()}));
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void mlir::kernel::populateEmbeddingPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                             RewritePatternSet &patterns) {
  patterns.add<EmbeddingLowering>(converter, lowering);
}
