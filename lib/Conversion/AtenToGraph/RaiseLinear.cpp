//===- RaiseLinear.cpp - linear layers and embeddings -------------------------------------------------------------===//

#include "Patterns.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

using namespace mlir;
using namespace mlir::aten;

static bool isModelFloat(Value value) {
  auto type = getTensorType(value);
  return type && aten::isModelFloat(type.getElementType());
}

/// The matrix W such that `value` is W^T: behind a transpose, or by a recipe if it is a parameter. Null otherwise.
static Value getTransposed(PatternRewriter &rewriter, Value value) {
  auto type = getTensorType(value);
  if (!type || type.getRank() != 2)
    return {};
  if (CallOp transpose = getDefiningCall(value, {"aten.t", "aten.transpose"}))
    if (getTensorType(transpose.getValue("self")).getRank() == 2)
      return transpose.getValue("self");
  auto parameter = value.getDefiningOp<moe::ParameterOp>();
  if (!parameter)
    return {};
  SmallVector<Attribute> recipe;
  if (ArrayAttr steps = parameter.getRecipeAttr())
    llvm::append_range(recipe, steps);
  recipe.push_back(moe::TransposeAttr::get(rewriter.getContext(), {1, 0}));
  return moe::ParameterOp::create(rewriter, parameter.getLoc(), type.clone({type.getDimSize(1), type.getDimSize(0)}),
                                  parameter.getSources(), rewriter.getArrayAttr(recipe));
}

namespace {

struct RaiseLinear : CallPattern {
  RaiseLinear(MLIRContext *context) : CallPattern(context, {"aten.linear"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value x = call.getValue("input"), weight = call.getValue("weight"), bias = call.getValue("bias");
    if (!bias && call.getArgument("bias"))
      return rewriter.notifyMatchFailure(call, "the bias is not a tensor");
    if (!isModelFloat(x) || !isModelFloat(weight) || getTensorType(weight).getRank() != 2 ||
        getElementTypeOf(x) != getElementTypeOf(weight) || getElementTypeOf(x) != getElementTypeOf(call.getResult(0)) ||
        getTensorType(x).getRank() < 1)
      return rewriter.notifyMatchFailure(call, "not f32, bf16 or f16 throughout");
    rewriter.replaceOpWithNewOp<nn::LinearOp>(call, call.getResult(0).getType(), x, weight, bias);
    return success();
  }
};

/// x @ w^T, mm and addmm(bias, x, w^T).
struct RaiseMatmul : CallPattern {
  RaiseMatmul(MLIRContext *context) : CallPattern(context, {"aten.matmul", "aten.mm", "aten.addmm"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    bool bias = call.getBase() == "aten.addmm";
    Value x = call.getValue(bias ? "mat1" : "self");
    Value right = call.getValue(bias || call.getBase() == "aten.mm" ? "mat2" : "other");
    if (!isModelFloat(x) || !isModelFloat(right) || getTensorType(x).getRank() < 2 ||
        getElementTypeOf(x) != getElementTypeOf(right) || getElementTypeOf(x) != getElementTypeOf(call.getResult(0)))
      return failure();
    RankedTensorType added = bias ? getTensorType(call.getValue("self")) : RankedTensorType();
    if (bias && (!added || added.getRank() != 1 || call.getFloat("beta").value_or(1) != 1 ||
                 call.getFloat("alpha").value_or(1) != 1))
      return failure();
    Value weight = getTransposed(rewriter, right);
    if (!weight)
      return failure();
    rewriter.replaceOpWithNewOp<nn::LinearOp>(call, call.getResult(0).getType(), x, weight,
                                              bias ? call.getValue("self") : Value());
    return success();
  }
};

struct RaiseEmbedding : CallPattern {
  RaiseEmbedding(MLIRContext *context) : CallPattern(context, {"aten.embedding"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value table = call.getValue("weight"), ids = call.getValue("indices");
    if (!isModelFloat(table) || getTensorType(table).getRank() != 2)
      return failure();
    rewriter.replaceOpWithNewOp<nn::EmbeddingOp>(call, call.getResult(0).getType(), ids, table,
                                                 /*at=*/FlatSymbolRefAttr());
    return success();
  }
};

} // namespace

void mlir::aten::populateRaiseLinearPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseLinear, RaiseMatmul, RaiseEmbedding>(patterns.getContext());
}
