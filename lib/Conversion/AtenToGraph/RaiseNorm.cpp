//===- RaiseNorm.cpp - root-mean-square normalisation -------------------------------------------------------------===//
//
// Models spell it as
//   x32 = x.to(f32); n = x32 * rsqrt(mean(x32^2, -1, keepdim) + eps)
// followed by one of
//   weight * n.to(dtype)          the product is rounded again
//   (weight * n).to(dtype)        fused_scale
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "PlainLayers.h"

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
static std::optional<double> matchInverseRms(Value value, Value x, Mismatch *why) {
  auto no = [&](StringRef step, const Twine &reason, Value at) -> std::optional<double> {
    (void)giveUp(why, step, reason, at);
    return std::nullopt;
  };
  CallOp rsqrt = getDefiningCall(value, {"aten.rsqrt"});
  CallOp add = rsqrt ? getDefiningCall(rsqrt.getValue("self"), {"aten.add"}) : CallOp();
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

namespace {
struct Normalized {
  /// Before its cast to f32.
  Value x;
  double eps;
};
} // namespace

/// x32 * rsqrt(...) in f32.
static std::optional<Normalized> matchNormalized(Value value, Mismatch *why = nullptr) {
  CallOp mul = getDefiningCall(value, {"aten.mul"});
  if (!mul)
    return giveUp(why, "product", nameOf(value) + " is not x * rsqrt(mean(x^2) + eps)", value);
  if (!getElementTypeOf(value).isF32())
    return giveUp(why, "product", "x is not multiplied by its inverse root in f32", value);
  for (auto [xName, rName] : {std::pair("self", "other"), std::pair("other", "self")}) {
    Value x = mul.getValue(xName), r = mul.getValue(rName);
    if (!x || !r || x.getType() != value.getType())
      continue;
    std::optional<double> eps = matchInverseRms(r, x, getDefiningCall(r, {"aten.rsqrt"}) ? why : nullptr);
    if (!eps)
      continue;
    CallOp cast = getDefiningCall(x, {"aten.to"});
    if (cast && isModelFloat(getElementTypeOf(cast.getValue("self"))))
      x = cast.getValue("self");
    return Normalized{x, *eps};
  }
  return giveUp(why, "product", "x and its inverse root do not fit each other", value);
}

static bool isScale(Value value, RankedTensorType x) {
  auto type = getTensorType(value);
  return type && type.getRank() == 1 && x.getRank() >= 1 && type.getDimSize(0) == x.getShape().back() &&
         !type.isDynamicDim(0) && type.getElementType() == x.getElementType();
}

/// weight * n.to(dtype of x); n is `normName` of the product.
static std::optional<Normalized> matchRounded(CallOp call, StringRef weightName, StringRef normName, Mismatch *why) {
  Value weight = call.getValue(weightName), normalized = call.getValue(normName);
  if (!weight || !normalized)
    return giveUp(why, "weight", "the rows are multiplied by a number instead of a weight", call.getResult(0));
  CallOp cast = getDefiningCall(normalized, {"aten.to"});
  std::optional<Normalized> match = matchNormalized(cast ? cast.getValue("self") : normalized, why);
  if (!match)
    return std::nullopt;
  if (match->x.getType() != normalized.getType() || match->x.getType() != call.getResult(0).getType())
    return giveUp(why, "types", "the rows are not rounded to their own type before the weight", call.getResult(0));
  if (!isScale(weight, getTensorType(match->x)))
    return giveUp(why, "weight", "the rows are not multiplied by a vector of their own type", call.getResult(0));
  return match;
}

/// (weight * n).to(bf16); in f32 there is no rounding in between and the other form is the same.
static std::optional<Normalized> matchFused(CallOp call, Value &weight, Mismatch *why) {
  CallOp mul = getDefiningCall(call.getValue("self"), {"aten.mul"});
  if (!mul || !getElementTypeOf(mul.getResult(0)).isF32())
    return giveUp(why, "weight", "no vector multiplies the rows in f32", call.getResult(0));
  std::optional<Normalized> match;
  weight = matchFactor(mul, [&](Value value) { return (match = matchNormalized(value)).has_value(); });
  if (CallOp cast = weight ? getDefiningCall(weight, {"aten.to"}) : CallOp())
    weight = cast.getValue("self");
  if (!weight || match->x.getType() != call.getResult(0).getType())
    return giveUp(why, "types", "the weighted rows are not rounded to their own type", call.getResult(0));
  if (!isScale(weight, getTensorType(match->x)))
    return giveUp(why, "weight", "the rows are not multiplied by a vector of their own type", mul.getResult(0));
  return match;
}

/// eps of torch.nn.functional.rms_norm over the last dimension.
static std::optional<double> matchTorch(CallOp call, Mismatch *why) {
  auto no = [&](StringRef step, const Twine &reason) -> std::optional<double> {
    (void)giveUp(why, step, reason);
    return std::nullopt;
  };
  Value x = call.getValue("input"), weight = call.getValue("weight");
  std::optional<SmallVector<int64_t>> shape = call.getInts("normalized_shape");
  std::optional<double> eps = call.getFloat("eps");
  if (!eps && getElementTypeOf(x).isF32())
    eps = 0x1p-23;
  if (!shape || shape->size() != 1)
    return no("mean", "it is not over the last dimension alone");
  if (!weight || !isScale(weight, getTensorType(x)))
    return no("weight", weight ? "it is not a vector of the type of the rows" : "there is none");
  return eps ? eps : no("eps", "none is given, and that of the type is not known");
}

void mlir::aten::explainNormCall(CallOp call, Mismatch &why) {
  if (call.getBase() == "aten.rms_norm")
    (void)matchTorch(call, &why);
  else
    (void)giveUp(&why, "mean", call.getBase() + " takes the mean away, which nn.rms_norm does not");
}

void mlir::aten::explainInverseRoot(CallOp root, Mismatch &why) {
  auto only = [](Value value, ArrayRef<StringRef> bases) {
    for (Operation *user : value.getUsers())
      if (auto call = dyn_cast<CallOp>(user); call && llvm::is_contained(bases, call.getBase()))
        return call;
    return CallOp();
  };
  if (root.getBase() != "aten.rsqrt") {
    (void)giveUp(&why, "root", "it is " + root.getBase() + " instead of aten.rsqrt");
    return;
  }
  // Forwards along the spelling above: the product with x, a cast, the product with the weight, a cast.
  CallOp product = only(root.getResult(0), {"aten.mul"});
  if (!product) {
    (void)giveUp(&why, "product", "nothing is multiplied by the inverse root", root.getResult(0));
    return;
  }
  Value rows = product.getResult(0);
  if (!matchNormalized(rows, &why))
    return;
  if (CallOp cast = only(rows, {"aten.to"}))
    rows = cast.getResult(0);
  CallOp weighted = only(rows, {"aten.mul"});
  if (!weighted) {
    std::string next = "nothing";
    if (Operation *user = rows.use_empty() ? nullptr : *rows.user_begin())
      next = user->getNumResults() ? nameOf(user->getResult(0)) : user->getName().getStringRef().str();
    (void)giveUp(&why, "weight", "the rows are not multiplied by a vector, but go to " + next, rows);
    return;
  }
  if (CallOp cast = only(weighted.getResult(0), {"aten.to"})) {
    Value weight;
    (void)matchFused(cast, weight, &why);
    return;
  }
  bool first = weighted.getValue("self") == rows;
  (void)matchRounded(weighted, first ? "other" : "self", first ? "self" : "other", &why);
}

namespace {

struct RaiseRmsNorm : CallPattern {
  RaiseRmsNorm(MLIRContext *context) : CallPattern(context, {"aten.mul"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    for (auto [weightName, normName] : {std::pair("self", "other"), std::pair("other", "self")})
      if (std::optional<Normalized> match = matchRounded(call, weightName, normName, /*why=*/nullptr)) {
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
    std::optional<Normalized> match = matchFused(call, weight, /*why=*/nullptr);
    if (!match)
      return failure();
    rewriter.replaceOpWithNewOp<nn::RmsNormOp>(call, match->x, weight, rewriter.getF64FloatAttr(match->eps),
                                               rewriter.getUnitAttr());
    return success();
  }
};

/// torch.nn.functional.rms_norm, which multiplies before it rounds.
struct RaiseTorchRmsNorm : CallPattern {
  RaiseTorchRmsNorm(MLIRContext *context) : CallPattern(context, {"aten.rms_norm"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    std::optional<double> eps = matchTorch(call, /*why=*/nullptr);
    if (!eps)
      return failure();
    rewriter.replaceOpWithNewOp<nn::RmsNormOp>(call, call.getValue("input"), call.getValue("weight"),
                                               rewriter.getF64FloatAttr(*eps), rewriter.getUnitAttr());
    return success();
  }
};

} // namespace

void mlir::aten::populateRaiseNormPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseRmsNorm, RaiseFusedRmsNorm, RaiseTorchRmsNorm>(patterns.getContext());
}
