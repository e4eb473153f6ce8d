//===- DecomposeVectorNorm.cpp - norms of vectors -----------------------------------------------------------------===//
//
// Before patterns look: routers divide by norms of their weights.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Decompose.h"

#include <limits>

using namespace mlir;
using namespace mlir::aten;

namespace {
/// linalg_vector_norm(x, ord, dim, keepdim): a sum of sizes (1), the root of a sum of squares (2), or the largest size.
struct DecomposeVectorNorm : CallPattern {
  DecomposeVectorNorm(MLIRContext *context) : CallPattern(context, {"aten.linalg_vector_norm"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    Value x = call.getValue("self");
    RankedTensorType type = getTensorType(x), result = getTensorType(call.getResult(0));
    std::optional<double> order = call.getArgument("ord") ? call.getFloat("ord") : 2.0;
    std::optional<SmallVector<int64_t>> dims = call.getInts("dim");
    bool largest = order == std::numeric_limits<double>::infinity();
    if (!type || !dims || dims->empty() || !order || (*order != 1 && *order != 2 && !largest) ||
        call.getArgument("dtype") || !isa<FloatType>(type.getElementType()) ||
        result.getElementType() != type.getElementType())
      return failure();
    Type wide = getWideType(type.getElementType());
    x = createCast(rewriter, loc, x, wide);
    x = createCall(rewriter, loc, *order == 2 ? "aten.square.default" : "aten.abs.default", x.getType(), {{"self", x}});
    Value norm = createCall(rewriter, loc, largest ? "aten.amax.default" : "aten.sum.dim_IntList", result.clone(wide),
                            {{"self", x},
                             {"dim", Attribute(rewriter.getI64ArrayAttr(*dims))},
                             {"keepdim", Attribute(rewriter.getBoolAttr(call.getBool("keepdim").value_or(false)))}});
    if (*order == 2)
      norm = createCall(rewriter, loc, "aten.sqrt.default", norm.getType(), {{"self", norm}});
    rewriter.replaceOp(call, createCast(rewriter, loc, norm, type.getElementType()));
    return success();
  }
};
} // namespace

void mlir::aten::populateDecomposeVectorNormPatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeVectorNorm>(patterns.getContext());
}
