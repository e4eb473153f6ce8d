//===- ExpertLayer.cpp - builds gate, dispatch, expert, combine ---------------------------------------------------===//

#include "ExpertLayer.h"
#include "Patterns.h"
#include "Router.h"

using namespace mlir;
using namespace mlir::aten;

/// [E, out, in], which moe.expert wants, from [E, in, out].
static Value transposeWeight(PatternRewriter &rewriter, Value weight) {
  auto type = getTensorType(weight);
  auto parameter = weight.getDefiningOp<moe::ParameterOp>();
  if (!parameter)
    return createTranspose(rewriter, weight.getLoc(), weight, 1, 2);
  SmallVector<Attribute> recipe;
  if (ArrayAttr steps = parameter.getRecipeAttr())
    llvm::append_range(recipe, steps);
  recipe.push_back(moe::TransposeAttr::get(rewriter.getContext(), {0, 2, 1}));
  return moe::ParameterOp::create(rewriter, parameter.getLoc(),
                                  type.clone({type.getDimSize(0), type.getDimSize(2), type.getDimSize(1)}),
                                  parameter.getSources(), rewriter.getArrayAttr(recipe));
}

Value mlir::aten::createExpertLayer(PatternRewriter &rewriter, Location loc, ExpertLayer layer, Region &activation,
                                    Type result) {
  auto type = getTensorType(layer.tokens);
  int64_t experts = getTensorType(layer.wIn).getDimSize(0);
  if (layer.inTransposed)
    layer.wIn = transposeWeight(rewriter, layer.wIn);
  if (layer.outTransposed)
    layer.wOut = transposeWeight(rewriter, layer.wOut);
  raiseRouter(rewriter, loc, layer.ids, layer.weights, experts);

  int64_t k = getTensorType(layer.ids).getDimSize(1), count = type.getDimSize(0);
  int64_t rowCount = type.isDynamicDim(0) || ShapedType::isDynamic(k) ? ShapedType::kDynamic : count * k;
  auto outType = type.clone({rowCount, cast<RankedTensorType>(result).getDimSize(1)});
  auto dispatch = moe::DispatchOp::create(rewriter, loc, type.clone({rowCount, type.getDimSize(1)}),
                                          moe::LayoutType::get(rewriter.getContext(), experts), layer.tokens, layer.ids,
                                          /*weights=*/Value(), rewriter.getI64IntegerAttr(experts),
                                          /*placement=*/nullptr);
  auto expert = moe::ExpertOp::create(rewriter, loc, outType, dispatch.getRows(), dispatch.getLayout(), layer.wIn,
                                      layer.wOut, layer.bIn, layer.bOut, layer.gated, layer.interleaved);
  expert.getActivation().takeBody(activation);
  return moe::CombineOp::create(rewriter, loc, result, expert.getResult(), dispatch.getLayout(), layer.weights);
}
