//===- RaiseCache.cpp - writes into a cache of keys or values -----------------------------------------------------===//

#include "ElementAnalysis.h"
#include "Patterns.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

using namespace mlir;
using namespace mlir::aten;

/// An argument that gives the first of `rows` positions must leave room for all of them: the executable checks it.
static void boundPositions(Value positions, Value rows, int64_t length, OpBuilder &builder) {
  auto argument = dyn_cast<BlockArgument>(positions);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function || function.getArgAttr(argument.getArgNumber(), "moe.range"))
    return;
  SizeAnalysis sizes;
  SizeExpr count = sizes.getSize(rows, 1);
  StringAttr plus;
  for (BlockArgument other : function.getArguments()) {
    auto dims = function.getArgAttrOfType<ArrayAttr>(other.getArgNumber(), "moe.dims");
    for (int64_t dim = 0; dims && !plus && dim < int64_t(dims.size()); ++dim)
      if (sizes.getSize(other, dim) == count)
        plus = cast<StringAttr>(dims[dim]);
  }
  std::optional<int64_t> constant = count.getConstant();
  if (!constant && (!plus || plus.empty()))
    return;
  function.setArgAttr(argument.getArgNumber(), "moe.range",
                      builder.getI64ArrayAttr({0, constant ? length - *constant : length - 1}));
  if (!constant)
    function.setArgAttr(argument.getArgNumber(), "moe.range_plus", plus);
}

namespace {
/// index_copy(cache [B, N, L, D], 2, position + arange(S), rows [B, N, S, D])
struct RaiseCacheUpdate : CallPattern {
  RaiseCacheUpdate(MLIRContext *context) : CallPattern(context, {"aten.index_copy"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value cache = call.getValue("self"), index = call.getValue("index"), source = call.getValue("source");
    auto type = getTensorType(cache), sourceType = getTensorType(source);
    if (!type || type.getRank() != 4 || call.getDim("dim", 4) != 2 || !isModelFloat(type.getElementType()) ||
        sourceType.getElementType() != type.getElementType() || type.isDynamicDim(2) ||
        getTensorType(index).getRank() != 1)
      return failure();
    ElementAnalysis elements;
    Element slot = elements.evaluate(index, {ElementAnalysis::coordinate(2)});
    if (slot.kind != Element::Integer)
      return failure();
    SizeExpr start = slot.integer - ElementAnalysis::coordinate(2);
    for (const auto &term : start.terms)
      if (llvm::is_contained(term.first, 2u))
        return rewriter.notifyMatchFailure(call, "the slots are not consecutive");
    Value positions = elements.materializeRow(rewriter, call.getLoc(), start, cache, 0);
    if (!positions)
      return failure();
    Value rows = createTranspose(rewriter, call.getLoc(), source, 1, 2);
    boundPositions(positions, rows, type.getDimSize(2), rewriter);
    rewriter.replaceOpWithNewOp<nn::CacheUpdateOp>(call, cache, rows, positions);
    return success();
  }
};
} // namespace

void mlir::aten::populateRaiseCachePatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseCacheUpdate>(patterns.getContext());
}
