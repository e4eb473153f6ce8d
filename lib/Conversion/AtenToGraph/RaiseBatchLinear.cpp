//===- RaiseBatchLinear.cpp - products of each head with a matrix of its own --------------------------------------===//
//
// matmul(x [.., G, M, K], w [G, K, N]) and bmm, where w is a parameter. nn.batch_linear has the rows of all matrices
// beside each other, [.., M, G, K], which is the form that a linear layer gives and attention takes: models that make
// heads the outer dimension do so by a transpose, which goes away with the one that stands here (SimplifyJoins.cpp).
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Patterns.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

using namespace mlir;
using namespace mlir::aten;

namespace {
struct RaiseBatchLinear : CallPattern {
  RaiseBatchLinear(MLIRContext *context) : CallPattern(context, {"aten.matmul", "aten.bmm"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    Value x = call.getValue("self"), right = call.getValue(call.getBase() == "aten.bmm" ? "mat2" : "other");
    auto parameter = right ? right.getDefiningOp<moe::ParameterOp>() : moe::ParameterOp();
    RankedTensorType type = getTensorType(x), weight = parameter ? getTensorType(right) : RankedTensorType();
    if (!type || !weight || weight.getRank() != 3 || !weight.hasStaticShape())
      return rewriter.notifyMatchFailure(call, "not by a batch of constant matrices");
    Type element = weight.getElementType();
    const int64_t rank = type.getRank();
    // One matrix for all rows, or rows that are the same for all matrices, are a product of another form.
    if (rank < 3 || type.getDimSize(rank - 3) != weight.getDimSize(0) || weight.getDimSize(0) < 2 ||
        type.getDimSize(rank - 1) != weight.getDimSize(1))
      return rewriter.notifyMatchFailure(call, "no matrix for each entry of a dimension");
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = weight.getDimSize(2);
    if (!isModelFloat(element) || type.getElementType() != element ||
        call.getResult(0).getType() != type.clone(shape))
      return rewriter.notifyMatchFailure(call, "not f32, bf16 or f16 throughout, or another result than the rows say");

    SmallVector<Attribute> recipe;
    if (ArrayAttr steps = parameter.getRecipeAttr())
      llvm::append_range(recipe, steps);
    auto transpose = moe::TransposeAttr::get(rewriter.getContext(), {0, 2, 1});
    if (!recipe.empty() && recipe.back() == transpose)
      recipe.pop_back();
    else
      recipe.push_back(transpose);
    auto transposed = weight.clone({weight.getDimSize(0), weight.getDimSize(2), weight.getDimSize(1)});
    Value matrices = moe::ParameterOp::create(rewriter, parameter.getLoc(), transposed, parameter.getSources(),
                                              recipe.empty() ? ArrayAttr() : rewriter.getArrayAttr(recipe));
    Value rows = createTranspose(rewriter, call.getLoc(), x, rank - 3, rank - 2);
    std::swap(shape[rank - 3], shape[rank - 2]);
    Value result = nn::BatchLinearOp::create(rewriter, call.getLoc(), weight.clone(shape), rows, matrices, Value());
    rewriter.replaceOp(call, createTranspose(rewriter, call.getLoc(), result, rank - 3, rank - 2));
    return success();
  }
};
} // namespace

void mlir::aten::populateRaiseBatchLinearPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseBatchLinear>(patterns.getContext());
}
