//===- RaiseNorm.cpp - root-mean-square normalisation -------------------------------------------------------------===//
//
// Models spell it as
//   x32 = x.to(f32); n = x32 * rsqrt(mean(x32^2, -1, keepdim) + eps)
// followed by one of
//   weight * n.to(dtype)          the product is rounded again
//   (weight * n).to(dtype)        fused_scale
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Patterns.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

using namespace mlir;
using namespace mlir::aten;

/// The other factor of `product` if one factor satisfies `accept`.
static Value matchFactor(CallOp product, llvm::function_ref<bool(Value)> accept) {
  Value a = product.getValue("self"), b = product.getValue("other");
  if (!a || !b)
    return {};
  if (accept(a))
    return b;
  return accept(b) ? a : Value();
}

static bool isSquareOf(Value square, Value x) {
  if (CallOp pow = getDefiningCall(square, {"aten.pow"}))
    return pow.getValue("self") == x && pow.getFloat("exponent") == 2.0;
  if (CallOp call = getDefiningCall(square, {"aten.square"}))
    return call.getValue("self") == x;
  CallOp mul = getDefiningCall(square, {"aten.mul"});
  return mul && mul.getValue("self") == x && mul.getValue("other") == x;
}

/// eps, if `value` is rsqrt(mean(x^2) + eps) over the last dimension.
static std::optional<double> matchInverseRms(Value value, Value x) {
  CallOp rsqrt = getDefiningCall(value, {"aten.rsqrt"});
  CallOp add = rsqrt ? getDefiningCall(rsqrt.getValue("self"), {"aten.add"}) : CallOp();
  CallOp mean = add ? getDefiningCall(add.getValue("self"), {"aten.mean"}) : CallOp();
  if (!mean || !isSquareOf(mean.getValue("self"), x) || !mean.getBool("keepdim").value_or(false) ||
      add.getArgument("alpha"))
    return std::nullopt;
  int64_t rank = getTensorType(x).getRank();
  std::optional<SmallVector<int64_t>> dims = mean.getInts("dim");
  if (!dims || dims->size() != 1 || ((*dims)[0] != -1 && (*dims)[0] != rank - 1))
    return std::nullopt;
  return add.getFloat("other");
}

namespace {
struct Normalized {
  /// Before its cast to f32.
  Value x;
  double eps;
};
} // namespace

/// x32 * rsqrt(...) in f32.
static std::optional<Normalized> matchNormalized(Value value) {
  CallOp mul = getDefiningCall(value, {"aten.mul"});
  if (!mul || !getElementTypeOf(value).isF32())
    return std::nullopt;
  for (auto [xName, rName] : {std::pair("self", "other"), std::pair("other", "self")}) {
    Value x = mul.getValue(xName), r = mul.getValue(rName);
    if (!x || !r || x.getType() != value.getType())
      continue;
    std::optional<double> eps = matchInverseRms(r, x);
    if (!eps)
      continue;
    CallOp cast = getDefiningCall(x, {"aten.to"});
    if (cast && getElementTypeOf(cast.getValue("self")).isBF16())
      x = cast.getValue("self");
    return Normalized{x, *eps};
  }
  return std::nullopt;
}

static bool isScale(Value value, RankedTensorType x) {
  auto type = getTensorType(value);
  return type && type.getRank() == 1 && x.getRank() >= 1 && type.getDimSize(0) == x.getShape().back() &&
         !type.isDynamicDim(0) && type.getElementType() == x.getElementType();
}

namespace {

/// weight * n.to(dtype of x)
struct RaiseRmsNorm : CallPattern {
  RaiseRmsNorm(MLIRContext *context) : CallPattern(context, {"aten.mul"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    for (auto [weightName, normName] : {std::pair("self", "other"), std::pair("other", "self")}) {
      Value weight = call.getValue(weightName), normalized = call.getValue(normName);
      if (!weight || !normalized)
        continue;
      CallOp cast = getDefiningCall(normalized, {"aten.to"});
      std::optional<Normalized> match = matchNormalized(cast ? cast.getValue("self") : normalized);
      if (!match || match->x.getType() != normalized.getType() || match->x.getType() != call.getResult(0).getType() ||
          !isScale(weight, getTensorType(match->x)))
        continue;
      rewriter.replaceOpWithNewOp<nn::RmsNormOp>(call, match->x, weight, rewriter.getF64FloatAttr(match->eps),
                                                 /*fused_scale=*/UnitAttr());
      return success();
    }
    return failure();
  }
};

/// (weight * n).to(bf16); in f32 there is no rounding in between and the other form is the same.
struct RaiseFusedRmsNorm : CallPattern {
  RaiseFusedRmsNorm(MLIRContext *context) : CallPattern(context, {"aten.to"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    CallOp mul = getDefiningCall(call.getValue("self"), {"aten.mul"});
    if (!mul || !getElementTypeOf(mul.getResult(0)).isF32())
      return failure();
    std::optional<Normalized> match;
    Value weight = matchFactor(mul, [&](Value value) { return (match = matchNormalized(value)).has_value(); });
    if (CallOp cast = weight ? getDefiningCall(weight, {"aten.to"}) : CallOp())
      weight = cast.getValue("self");
    if (!weight || match->x.getType() != call.getResult(0).getType() || !isScale(weight, getTensorType(match->x)))
      return failure();
    rewriter.replaceOpWithNewOp<nn::RmsNormOp>(call, match->x, weight, rewriter.getF64FloatAttr(match->eps),
                                               rewriter.getUnitAttr());
    return success();
  }
};

/// torch.nn.functional.rms_norm over the last dimension, which multiplies before it rounds.
struct RaiseTorchRmsNorm : CallPattern {
  RaiseTorchRmsNorm(MLIRContext *context) : CallPattern(context, {"aten.rms_norm"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value x = call.getValue("input"), weight = call.getValue("weight");
    std::optional<SmallVector<int64_t>> shape = call.getInts("normalized_shape");
    std::optional<double> eps = call.getFloat("eps");
    if (!eps && getElementTypeOf(x).isF32())
      eps = 0x1p-23;
    if (!shape || shape->size() != 1 || !weight || !isScale(weight, getTensorType(x)) || !eps)
      return failure();
    rewriter.replaceOpWithNewOp<nn::RmsNormOp>(call, x, weight, rewriter.getF64FloatAttr(*eps), rewriter.getUnitAttr());
    return success();
  }
};

} // namespace

void mlir::aten::populateRaiseNormPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseRmsNorm, RaiseFusedRmsNorm, RaiseTorchRmsNorm>(patterns.getContext());
}
