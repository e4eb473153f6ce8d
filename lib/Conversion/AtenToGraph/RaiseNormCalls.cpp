//===- RaiseNormCalls.cpp - norms that PyTorch computes in one call -----------------------------------------------===//
//
// rms_norm multiplies before it rounds. layer_norm is the same of x - mean(x), with a bias behind it, all in f32.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Decompose.h"
#include "Norm.h"
#include "PlainLayers.h"

using namespace mlir;
using namespace mlir::aten;

namespace {
struct NormCall {
  Value x, weight, bias;
  double eps;
  bool centred;
};
} // namespace

/// A norm over the last dimension.
static std::optional<NormCall> matchNormCall(CallOp call, Mismatch *why) {
  auto no = [&](StringRef step, const Twine &reason) { return giveUp(why, step, reason); };
  const bool centred = call.getBase() == "aten.layer_norm";
  NormCall norm{call.getValue("input"), call.getValue("weight"), call.getValue("bias"), 0, centred};
  RankedTensorType type = getTensorType(norm.x);
  std::optional<SmallVector<int64_t>> shape = call.getInts("normalized_shape");
  if (!shape || shape->size() != 1 || !hasColumns(type))
    return no("mean", "it is not over the last dimension alone");
  const bool isWide = type.getElementType().isF32();
  if (call.getResult(0).getType() != type || !isModelFloat(type.getElementType()))
    return no("types", "the rows are not of f32, bf16 or f16");
  for (auto [name, vector] : {std::pair("weight", norm.weight), std::pair("bias", norm.bias)})
    if (vector && !isScale(vector, type))
      return no(name, "it is not a vector of the type of the rows");
  std::optional<double> eps = call.getFloat("eps");
  if (!eps && !call.getArgument("eps") && (centred || isWide))
    eps = centred ? 1e-5 : 0x1p-23;
  if (!eps)
    return no("eps", "none is given, and that of the type is not known");
  norm.eps = *eps;
  return norm;
}

void mlir::aten::explainNormCall(CallOp call, Mismatch &why) { (void)matchNormCall(call, &why); }

/// x - mean(x)
static Value takeMeanAway(OpBuilder &builder, Location loc, Value x) {
  RankedTensorType type = getTensorType(x);
  SmallVector<int64_t> column(type.getShape());
  column.back() = 1;
  Value mean = createCall(builder, loc, "aten.mean.dim", type.clone(column),
                          {{"self", x},
                           {"dim", Attribute(builder.getI64ArrayAttr({-1}))},
                           {"keepdim", Attribute(builder.getBoolAttr(true))}});
  return createCall(builder, loc, "aten.sub.Tensor", type, {{"self", x}, {"other", mean}});
}

namespace {
struct RaiseNormCall : CallPattern {
  RaiseNormCall(MLIRContext *context) : CallPattern(context, {"aten.rms_norm", "aten.layer_norm"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    std::optional<NormCall> norm = matchNormCall(call, /*why=*/nullptr);
    if (!norm)
      return failure();
    Location loc = call.getLoc();
    Value x = norm->x, weight = norm->weight, bias = norm->bias;
    if (norm->centred) {
      auto widen = [&](Value value) { return value ? createCast(rewriter, loc, value, rewriter.getF32Type()) : value; };
      x = takeMeanAway(rewriter, loc, widen(x));
      weight = widen(weight);
      bias = widen(bias);
    }
    Value result = createRmsNorm(rewriter, loc, x, weight, norm->eps);
    if (bias)
      result = createCall(rewriter, loc, "aten.add.Tensor", x.getType(), {{"self", result}, {"other", bias}});
    rewriter.replaceOp(call, createCast(rewriter, loc, result, getElementTypeOf(norm->x)));
    return success();
  }
};
} // namespace

void mlir::aten::populateRaiseNormCallsPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseNormCall>(patterns.getContext());
}
