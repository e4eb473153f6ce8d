//===- Embedding.cpp - nn.embedding: rows of a table ------------------------------------------------------------===//

#include "Lowering.h"

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
    kernel.forall({kernel.dim(idArg, 0)}, [&](ValueRange row) {
      Value id = kernel.toIndex(kernel.load(idArg, row));
      kernel.loop(kernel.idx(0), kernel.dim(table, 1), 1, [&](Value h) {
        Value element = kernel.load(table, {id, h});
        kernel.store(kernel.convert(element, getElementTypeOrSelf(dest)), dest, {row[0], h});
      });
    });
    OpFoldResult count = sizeOf(rewriter, loc, ids, 0);
    kernel.launch(rewriter, "embedding_" + shapeName(tableType.getShape()) + "_" + typeName(tableType.getElementType()),
                  count, mulSizes(rewriter, loc, {count, sizes.back()}));
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void mlir::kernel::populateEmbeddingPatterns(const TypeConverter &converter, GraphLowering &lowering,
                                             RewritePatternSet &patterns) {
  patterns.add<EmbeddingLowering>(converter, lowering);
}
