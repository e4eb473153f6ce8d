//===- RaiseNorm.cpp - root-mean-square normalisation -------------------------------------------------------------===//
//
// Models spell it as
//   x32 = x.to(f32); n = x32 * rsqrt(mean(x32^2, -1, keepdim) + eps)
// followed by one of
//   weight * n.to(dtype)          the product is rounded again
//   (weight * n).to(dtype)        fused_scale
// or by something else: then n is a norm with ones, in f32.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Norm.h"
#include "PlainLayers.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

/// rsqrt(x), or x to the power of -1/2.
static CallOp getInverseRoot(Value value) {
  CallOp root = getDefiningCall(value, {"aten.rsqrt", "aten.pow"});
  return root && (root.getBase() == "aten.rsqrt" || root.getFloat("exponent") == -0.5) ? root : CallOp();
}

/// eps, if `value` is rsqrt(mean(x^2) + eps) over the last dimension.
static std::optional<double> matchInverseRms(Value value, Value x, Mismatch *why) {
  auto no = [&](StringRef step, const Twine &reason, Value at) -> std::optional<double> {
    (void)giveUp(why, step, reason, at);
    return std::nullopt;
  };
  CallOp root = getInverseRoot(value);
  CallOp add = root ? getDefiningCall(root.getValue("self"), {"aten.add"}) : CallOp();
  CallOp mean = add ? getDefiningCall(add.getValue("self"), {"aten.mean"}) : CallOp();
  if (!mean)
    return no("eps", "the root is not rsqrt(mean(x^2) + eps)", value);
  if (!isSquareOf(mean.getValue("self"), x))
    return no("square", "the mean is not that of the squares of what is multiplied", mean.getValue("self"));
  int64_t rank = getTensorType(x).getRank();
  std::optional<SmallVector<int64_t>> dims = mean.getInts("dim");
  if (!mean.getBool("keepdim").value_or(false) || !dims || dims->size() != 1 ||
      ((*dims)[0] != -1 && (*dims)[0] != rank - 1))
    return no("mean", "it is not over the last dimension alone", mean.getResult(0));
  std::optional<double> eps = add.getArgument("alpha") ? std::nullopt : add.getFloat("other");
  return eps ? eps : no("eps", "it is not a number", add.getResult(0));
}

std::optional<Normalized> mlir::aten::matchNormalized(Value value, Mismatch *why) {
  CallOp mul = getDefiningCall(value, {"aten.mul"});
  if (!mul)
    return giveUp(why, "product", nameOf(value) + " is not x * rsqrt(mean(x^2) + eps)", value);
  if (!getElementTypeOf(value).isF32())
    return giveUp(why, "product", "x is not multiplied by its inverse root in f32", value);
  for (auto [xName, rName] : {std::pair("self", "other"), std::pair("other", "self")}) {
    Value x = mul.getValue(xName), r = mul.getValue(rName);
    if (!x || !r || x.getType() != value.getType())
      continue;
    std::optional<double> eps = matchInverseRms(r, x, getInverseRoot(r) ? why : nullptr);
    if (!eps)
      continue;
    CallOp cast = getDefiningCall(x, {"aten.to"});
    const bool isWidened = cast && isModelFloat(getElementTypeOf(cast.getValue("self")));
    return Normalized{isWidened ? cast.getValue("self") : x, x, *eps};
  }
  return giveUp(why, "product", "x and its inverse root do not fit each other", value);
}

bool mlir::aten::hasColumns(RankedTensorType type) {
  return type && type.getRank() > 0 && !type.isDynamicDim(type.getRank() - 1);
}

Value mlir::aten::createRmsNorm(OpBuilder &builder, Location loc, Value x, Value weight, double eps) {
  auto type = RankedTensorType::get({getTensorType(x).getShape().back()}, getElementTypeOf(x));
  if (!weight) {
    auto ones = DenseElementsAttr::get(type, builder.getFloatAttr(type.getElementType(), 1).getValue());
    weight = arith::ConstantOp::create(builder, loc, ones);
  }
  return nn::RmsNormOp::create(builder, loc, x, weight, builder.getF64FloatAttr(eps), builder.getUnitAttr());
}

bool mlir::aten::isScale(Value value, RankedTensorType x) {
  auto type = getTensorType(value);
  return type && type.getRank() == 1 && x.getRank() >= 1 && type.getDimSize(0) == x.getShape().back() &&
         !type.isDynamicDim(0) && type.getElementType() == x.getElementType();
}

/// weight * n.to(dtype of x); n is `normName` of the product.
static std::optional<Normalized> matchRounded(CallOp call, StringRef weightName, StringRef normName) {
  Value weight = call.getValue(weightName), normalized = call.getValue(normName);
  if (!weight || !normalized)
    return std::nullopt;
  CallOp cast = getDefiningCall(normalized, {"aten.to"});
  std::optional<Normalized> match = matchNormalized(cast ? cast.getValue("self") : normalized);
  if (!match || match->x.getType() != normalized.getType() || match->x.getType() != call.getResult(0).getType() ||
      !isScale(weight, getTensorType(match->x)))
    return std::nullopt;
  return match;
}

/// (weight * n).to(bf16); in f32 there is no rounding in between and the other form is the same.
static std::optional<Normalized> matchFused(CallOp call, Value &weight) {
  CallOp mul = getDefiningCall(call.getValue("self"), {"aten.mul"});
  if (!mul || !getElementTypeOf(mul.getResult(0)).isF32())
    return std::nullopt;
  std::optional<Normalized> match;
  weight = matchFactor(mul, [&](Value value) { return (match = matchNormalized(value)).has_value(); });
  if (CallOp cast = weight ? getDefiningCall(weight, {"aten.to"}) : CallOp())
    weight = cast.getValue("self");
  if (!weight || match->x.getType() != call.getResult(0).getType() || !isScale(weight, getTensorType(match->x)))
    return std::nullopt;
  return match;
}

void mlir::aten::explainInverseRoot(CallOp root, Mismatch &why) {
  if (!getInverseRoot(root.getResult(0))) {
    (void)giveUp(&why, "root", "it is " + root.getBase() + " instead of aten.rsqrt");
    return;
  }
  for (Operation *user : root->getUsers())
    if (auto product = dyn_cast<CallOp>(user); product && product.getBase() == "aten.mul") {
      if (matchNormalized(product.getResult(0), &why))
        (void)giveUp(&why, "columns", "their number is not known", product.getResult(0));
      return;
    }
  (void)giveUp(&why, "product", "nothing is multiplied by the inverse root", root.getResult(0));
}

namespace {

struct RaiseRmsNorm : CallPattern {
  RaiseRmsNorm(MLIRContext *context) : CallPattern(context, {"aten.mul"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    for (auto [weightName, normName] : {std::pair("self", "other"), std::pair("other", "self")})
      if (std::optional<Normalized> match = matchRounded(call, weightName, normName)) {
        rewriter.replaceOpWithNewOp<nn::RmsNormOp>(call, match->x, call.getValue(weightName),
                                                   rewriter.getF64FloatAttr(match->eps), /*fused_scale=*/UnitAttr());
        return success();
      }
    return failure();
  }
};

struct RaiseFusedRmsNorm : CallPattern {
  RaiseFusedRmsNorm(MLIRContext *context) : CallPattern(context, {"aten.to"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value weight;
    std::optional<Normalized> match = matchFused(call, weight);
    if (!match)
      return failure();
    rewriter.replaceOpWithNewOp<nn::RmsNormOp>(call, match->x, weight, rewriter.getF64FloatAttr(match->eps),
                                               rewriter.getUnitAttr());
    return success();
  }
};

/// x * rsqrt(mean(x^2) + eps) whose rows no vector multiplies, in f32.
struct RaiseBareRmsNorm : CallPattern {
  RaiseBareRmsNorm(MLIRContext *context) : CallPattern(context, {"aten.mul"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    if (!hasColumns(getTensorType(call.getResult(0))))
      return failure();
    std::optional<Normalized> match = matchNormalized(call.getResult(0));
    if (!match)
      return failure();
    rewriter.replaceOp(call, createRmsNorm(rewriter, call.getLoc(), match->wide, /*weight=*/{}, match->eps));
    return success();
  }
};

} // namespace

void mlir::aten::populateRaiseNormPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseRmsNorm, RaiseFusedRmsNorm>(patterns.getContext());
}

void mlir::aten::populateRaiseBareNormPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseBareRmsNorm>(patterns.getContext());
}
