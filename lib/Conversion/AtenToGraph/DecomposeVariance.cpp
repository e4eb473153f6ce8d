//===- DecomposeVariance.cpp - variances and standard deviations --------------------------------------------------===//

#include "Decompose.h"

#include "llvm/ADT/SmallBitVector.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::aten;

namespace {
/// var(x, dim, correction or unbiased, keepdim) and std: squares of the distance from the mean, summed and divided by
/// as many as there are less the correction; wide until the one rounding at the end.
struct DecomposeVariance : CallPattern {
  DecomposeVariance(MLIRContext *context) : CallPattern(context, {"aten.var", "aten.std"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Location loc = call.getLoc();
    Value x = call.getValue("self");
    RankedTensorType type = getTensorType(x), result = getTensorType(call.getResult(0));
    std::optional<SmallVector<int64_t>> dims = call.getArgument("dim") ? call.getInts("dim") : SmallVector<int64_t>();
    std::optional<double> correction = call.getBool("unbiased").value_or(true) ? 1 : 0;
    if (call.getArgument("correction"))
      correction = call.getFloat("correction");
    if (!type || !result || type.getRank() == 0 || !isa<FloatType>(type.getElementType()) || !dims || !correction)
      return failure();
    if (dims->empty())
      llvm::append_range(*dims, llvm::seq<int64_t>(0, type.getRank()));
    const bool keep = call.getBool("keepdim").value_or(false);
    SmallVector<int64_t> kept(type.getShape()), shape;
    llvm::SmallBitVector reduced(type.getRank());
    double count = 1;
    for (int64_t &dim : *dims) {
      if (dim < -type.getRank() || dim >= type.getRank())
        return failure();
      dim += dim < 0 ? type.getRank() : 0;
      if (reduced.test(dim))
        return failure();
      reduced.set(dim);
      count *= type.isDynamicDim(dim) ? std::numeric_limits<double>::quiet_NaN() : double(type.getDimSize(dim));
      kept[dim] = 1;
    }
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (keep || !reduced.test(dim))
        shape.push_back(kept[dim]);
    // Of sizes that are not known, whole numbers are subtracted.
    const bool isKnown = !std::isnan(count);
    const bool isWhole = std::abs(*correction) < 1e9 && *correction == std::floor(*correction);
    if (result != type.clone(shape) || (!isKnown && !isWhole))
      return failure();
    Type wide = getWideType(type.getElementType());
    auto reduce = [&](StringRef target, Type to, Value value, bool keeps) {
      return createCall(rewriter, loc, target, to,
                        {{"self", value},
                         {"dim", Attribute(rewriter.getI64ArrayAttr(*dims))},
                         {"keepdim", Attribute(rewriter.getBoolAttr(keeps))}});
    };
    x = createCast(rewriter, loc, x, wide);
    Value mean = reduce("aten.mean.dim", type.clone(kept, wide), x, /*keeps=*/true);
    x = createCall(rewriter, loc, "aten.sub.Tensor", type.clone(wide), {{"self", x}, {"other", mean}});
    x = createCall(rewriter, loc, "aten.square.default", type.clone(wide), {{"self", x}});
    RankedTensorType to = result.clone(wide);
    Value variance = reduce(*correction == 0 ? "aten.mean.dim" : "aten.sum.dim_IntList", to, x, keep);
    if (*correction != 0) {
      // Of no elements it is 0 / 0 whatever the correction is.
      const double least = count == 0 ? 0 : std::max(count - *correction, 0.0);
      NamedArgument divisor{"other", Attribute(rewriter.getF64FloatAttr(least))};
      if (!isKnown)
        divisor.second = countLess(rewriter, loc, call.getValue("self"), *dims, int64_t(*correction));
      variance = createCall(rewriter, loc, isKnown ? "aten.div.Scalar" : "aten.div.Tensor", to,
                            {{"self", variance}, divisor});
    }
    if (call.getBase() == "aten.std")
      variance = createCall(rewriter, loc, "aten.sqrt.default", to, {{"self", variance}});
    rewriter.replaceOp(call, createCast(rewriter, loc, variance, type.getElementType()));
    return success();
  }

  /// max(elements along `dims` - correction, 0), of no elements 0
  static Value countLess(OpBuilder &builder, Location loc, Value x, ArrayRef<int64_t> dims, int64_t correction) {
    auto integer = [&](int64_t number) { return Attribute(builder.getI64IntegerAttr(number)); };
    Type i64 = builder.getI64Type();
    Value count;
    for (int64_t dim : dims) {
      Value size = createSize(builder, loc, x, dim);
      count = count ? createCall(builder, loc, "_operator.mul", i64, {{"a", count}, {"b", size}}) : size;
    }
    Value rest = createCall(builder, loc, "_operator.sub", i64, {{"a", count}, {"b", integer(correction)}});
    if (correction > 0)
      return createCall(builder, loc, "torch.sym_max", i64, {{"a", rest}, {"b", integer(0)}});
    Value isAny = createCall(builder, loc, "torch.sym_min", i64, {{"a", count}, {"b", integer(1)}});
    return createCall(builder, loc, "_operator.mul", i64, {{"a", rest}, {"b", isAny}});
  }
};
} // namespace

void mlir::aten::populateDecomposeVariancePatterns(RewritePatternSet &patterns) {
  patterns.add<DecomposeVariance>(patterns.getContext());
}
