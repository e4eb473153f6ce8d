//===- RaiseRecurrent.cpp - moe_mlir::causal_conv and moe_mlir::scan become ops -----------------------------------===//

#include "Patterns.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::aten;

static bool hasRank(Value value, int64_t rank) {
  auto type = getTensorType(value);
  return type && type.getRank() == rank;
}

static bool isFloat(Value value) { return isModelFloat(getElementTypeOf(value)); }

/// Of f32 and that rank, if it is given.
static bool isNumbers(Value value, int64_t rank) {
  return !value || (hasRank(value, rank) && getElementTypeOf(value).isF32());
}

static Value castTo(PatternRewriter &rewriter, Location loc, Value value, Type type) {
  return value.getType() == type ? value : tensor::CastOp::create(rewriter, loc, type, value).getResult();
}

namespace {
struct RaiseCausalConv : CallPattern {
  RaiseCausalConv(MLIRContext *context) : CallPattern(context, {"moe_mlir.causal_conv"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value x = call.getValue("x"), weight = call.getValue("weight"), bias = call.getValue("bias");
    StringRef activation = call.getString("activation").value_or("");
    if (!hasRank(x, 3) || !hasRank(weight, 2) || (bias && !hasRank(bias, 1)) || !isFloat(x) || !isFloat(weight) ||
        (bias && !isFloat(bias)) || getTensorType(weight).isDynamicDim(1))
      return failure();
    if (!activation.empty() && activation != "silu")
      return rewriter.notifyMatchFailure(call, "an activation that the op does not have");
    rewriter.replaceOpWithNewOp<nn::CausalConvOp>(call, call.getResult(0).getType(), x, weight, bias,
                                                  activation == "silu");
    return success();
  }
};

struct RaiseScan : CallPattern {
  RaiseScan(MLIRContext *context) : CallPattern(context, {"moe_mlir.scan"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value query = call.getValue("query"), key = call.getValue("key"), value = call.getValue("value");
    Value decay = call.getValue("decay"), rates = call.getValue("rates"), beta = call.getValue("beta");
    Value state = call.getValue("state");
    if (call.getNumResults() != 2)
      return failure();
    for (Value operand : {query, key, value})
      if (!hasRank(operand, 4) || !isFloat(operand))
        return failure();
    const bool isOfHeads = !rates && hasRank(decay, 3);
    if (!decay || !state || !isNumbers(decay, isOfHeads ? 3 : 4) || !isNumbers(rates, 3) || !isNumbers(beta, 3) ||
        !isNumbers(state, 4))
      return rewriter.notifyMatchFailure(call, "decay, rates, beta or the state have other shapes or are not f32");
    auto values = getTensorType(value), keys = getTensorType(key);
    for (int64_t dim : {2, 3})
      if (values.isDynamicDim(dim) || keys.isDynamicDim(dim))
        return rewriter.notifyMatchFailure(call, "the sizes of a head are not known");
    auto scan = nn::ScanOp::create(rewriter, call.getLoc(), TypeRange{call.getResult(0).getType(), state.getType()},
                                   query, key, value, decay, rates, beta, state, /*in_place=*/false);
    Value next = castTo(rewriter, call.getLoc(), scan.getNext(), call.getResult(1).getType());
    rewriter.replaceOp(call, {scan.getResult(), next});
    return success();
  }
};
} // namespace

void mlir::aten::populateRaiseRecurrentPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseCausalConv, RaiseScan>(patterns.getContext());
}
