//===- FoldParameters.cpp - views of stacked weights become their recipes ---------------------------------------===//
//
// Experts' matrices that a model keeps one below the other, transposed, or in front of others are [E, out, in] by calls
// that only move elements. As steps of a recipe they cost nothing when the program runs, and packing sees a parameter.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Patterns.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

using namespace mlir;
using namespace mlir::aten;

/// The parameter that `value` is, if nothing else reads it: with other readers it would be stored twice.
static moe::ParameterOp getOnlyRead(Value value) {
  auto parameter = value ? value.getDefiningOp<moe::ParameterOp>() : moe::ParameterOp();
  return parameter && parameter->hasOneUse() && getTensorType(value) ? parameter : moe::ParameterOp();
}

/// Puts a parameter with one step more in place of `call`.
static LogicalResult addStep(PatternRewriter &rewriter, CallOp call, moe::ParameterOp parameter, Attribute step) {
  SmallVector<Attribute> recipe;
  if (ArrayAttr steps = parameter.getRecipeAttr())
    llvm::append_range(recipe, steps);
  recipe.push_back(step);
  rewriter.setInsertionPoint(parameter);
  rewriter.replaceOp(call, moe::ParameterOp::create(rewriter, parameter.getLoc(), call.getResult(0).getType(),
                                                    parameter.getSources(), rewriter.getArrayAttr(recipe)));
  rewriter.eraseOp(parameter);
  return success();
}

namespace {
/// view([E * F, H], [E, F, H])
struct FoldView : CallPattern {
  FoldView(MLIRContext *context) : CallPattern(context, {"aten.view", "aten.reshape", "aten._unsafe_view"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    moe::ParameterOp parameter = getOnlyRead(call.getValue("self"));
    RankedTensorType type = getTensorType(call.getResult(0));
    RankedTensorType from = parameter ? getTensorType(parameter.getResult()) : RankedTensorType();
    if (!from || from.getRank() != 2 || type.getRank() != 3 || !type.hasStaticShape() || type.getDimSize(0) < 1 ||
        type.getDimSize(2) != from.getDimSize(1) || type.getNumElements() != from.getNumElements())
      return failure();
    auto step = moe::CutAttr::get(rewriter.getContext(), /*dim=*/0, type.getDimSize(0), /*halves=*/false);
    return addStep(rewriter, call, parameter, step);
  }
};

/// The transpose of each expert's matrix behind another step. Of a parameter as it is, who reads it says what to do.
struct FoldTranspose : CallPattern {
  FoldTranspose(MLIRContext *context) : CallPattern(context, {"aten.transpose"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    moe::ParameterOp parameter = getOnlyRead(call.getValue("self"));
    std::optional<int64_t> first = call.getDim("dim0", 3), second = call.getDim("dim1", 3);
    if (!parameter || !parameter.getRecipe() || getTensorType(call.getResult(0)).getRank() != 3 || !first || !second ||
        *first + *second != 3 || *first == 0 || *second == 0)
      return failure();
    return addStep(rewriter, call, parameter, moe::TransposeAttr::get(rewriter.getContext(), {0, 2, 1}));
  }
};

/// The first experts of more.
struct FoldSlice : CallPattern {
  FoldSlice(MLIRContext *context) : CallPattern(context, {"aten.slice"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    moe::ParameterOp parameter = getOnlyRead(call.getValue("self"));
    RankedTensorType type = getTensorType(call.getResult(0));
    std::optional<int64_t> start = call.getArgument("start") ? call.getInt("start") : 0;
    if (!parameter || type.getRank() != 3 || !type.hasStaticShape() || type.getDimSize(0) == 0 ||
        (call.getArgument("dim") ? call.getDim("dim", 3) : 0) != 0 || start != 0 ||
        (call.getArgument("step") && call.getInt("step") != 1))
      return failure();
    return addStep(rewriter, call, parameter,
                   moe::SliceAttr::get(rewriter.getContext(), /*dim=*/0, /*offset=*/0, type.getDimSize(0)));
  }
};

/// A matrix that linear layers take in f32, as routers do: cast when the program runs, it would be packed then, too.
struct FoldCast : CallPattern {
  FoldCast(MLIRContext *context) : CallPattern(context, {"aten.to", "aten._to_copy", "aten.float"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    moe::ParameterOp parameter = getOnlyRead(call.getValue("self"));
    RankedTensorType type = getTensorType(call.getResult(0));
    RankedTensorType from = parameter ? getTensorType(parameter.getResult()) : RankedTensorType();
    auto isWeight = [&](Operation *user) {
      auto linear = dyn_cast<CallOp>(user);
      return linear && linear.getBase() == "aten.linear" && linear.getValue("weight") == call.getResult(0) &&
             linear.getValue("input") != call.getResult(0);
    };
    if (!from || from.getRank() != 2 || !(from.getElementType().isBF16() || from.getElementType().isF16()) ||
        type != from.clone(rewriter.getF32Type()) || !llvm::all_of(call->getUsers(), isWeight))
      return failure();
    return addStep(rewriter, call, parameter, moe::CastAttr::get(rewriter.getContext(), rewriter.getF32Type()));
  }
};

/// Parts of each matrix, which together are all of it.
struct FoldSplit : CallPattern {
  FoldSplit(MLIRContext *context) : CallPattern(context, {"aten.split_with_sizes", "aten.split", "aten.chunk"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    moe::ParameterOp parameter = getOnlyRead(call.getValue("self"));
    std::optional<int64_t> dim = call.getArgument("dim") ? call.getDim("dim", 3) : 0;
    auto isPart = [](Value part) { // a recipe takes no empty one
      return getTensorType(part) && getTensorType(part).hasStaticShape() && getTensorType(part).getNumElements() > 0;
    };
    if (!parameter || getTensorType(parameter.getResult()).getRank() != 3 || !dim ||
        !llvm::all_of(call.getResults(), isPart))
      return failure();
    SmallVector<Value> parts;
    int64_t offset = 0;
    rewriter.setInsertionPoint(parameter);
    for (Value part : call.getResults()) {
      SmallVector<Attribute> recipe;
      if (ArrayAttr steps = parameter.getRecipeAttr())
        llvm::append_range(recipe, steps);
      const int64_t size = getTensorType(part).getDimSize(*dim);
      recipe.push_back(moe::SliceAttr::get(rewriter.getContext(), *dim, offset, size));
      parts.push_back(moe::ParameterOp::create(rewriter, parameter.getLoc(), part.getType(), parameter.getSources(),
                                               rewriter.getArrayAttr(recipe)));
      offset += size;
    }
    rewriter.replaceOp(call, parts);
    rewriter.eraseOp(parameter);
    return success();
  }
};

/// The matrices of gate and up one below the other: of two parameters as they are, or of two that are cut alike.
struct FoldCat : CallPattern {
  FoldCat(MLIRContext *context) : CallPattern(context, {"aten.cat", "aten.concat"}) {}
  LogicalResult rewrite(CallOp call, PatternRewriter &rewriter) const override {
    auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument("tensors"));
    RankedTensorType type = getTensorType(call.getResult(0));
    if (!list || list.size() != 2 || type.getRank() != 3 || call.getDim("dim", 3) != 1)
      return failure();
    moe::ParameterOp gate = getOnlyRead(call.getOperandOf(list[0])), up = getOnlyRead(call.getOperandOf(list[1]));
    if (!gate || !up || gate == up || gate.getType() != up.getType() || gate.getSources().size() != 1 ||
        up.getSources().size() != 1 || gate.getRecipeAttr() != up.getRecipeAttr())
      return failure();
    MLIRContext *context = rewriter.getContext();
    SmallVector<Attribute> recipe;
    if (ArrayAttr steps = gate.getRecipeAttr()) {
      auto cut = steps.size() == 1 ? dyn_cast<moe::CutAttr>(steps[0]) : moe::CutAttr();
      if (!cut || cut.getDim() != 0 || cut.getHalves())
        return failure();
      recipe = {moe::ConcatAttr::get(context, 0), moe::CutAttr::get(context, 0, cut.getParts(), /*halves=*/true)};
    } else {
      recipe = {moe::ConcatAttr::get(context, 1)};
    }
    rewriter.setInsertionPoint(call);
    rewriter.replaceOpWithNewOp<moe::ParameterOp>(
        call, type, rewriter.getArrayAttr({gate.getSources()[0], up.getSources()[0]}), rewriter.getArrayAttr(recipe));
    rewriter.eraseOp(gate);
    rewriter.eraseOp(up);
    return success();
  }
};
} // namespace

void mlir::aten::populateFoldParametersPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldView, FoldTranspose, FoldSlice, FoldCast, FoldSplit, FoldCat>(patterns.getContext());
}
