//===- ExpertLayer.cpp - builds gate, dispatch, expert, combine ---------------------------------------------------===//

#include "ExpertLayer.h"
#include "Patterns.h"
#include "Router.h"

using namespace mlir;
using namespace mlir::aten;

Value mlir::aten::createExpertLayer(PatternRewriter &rewriter, Location loc, ExpertLayer layer, Region &activation,
                                    Type result) {
  auto type = getTensorType(layer.tokens);
  int64_t experts = getTensorType(layer.wIn).getDimSize(0);
  // moe.expert wants [E, out, in].
  if (layer.inTransposed)
    layer.wIn = transposeMatrices(rewriter, layer.wIn.getLoc(), layer.wIn);
  if (layer.outTransposed)
    layer.wOut = transposeMatrices(rewriter, layer.wOut.getLoc(), layer.wOut);
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
