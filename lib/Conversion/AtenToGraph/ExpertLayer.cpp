//===- ExpertLayer.cpp - builds gate, dispatch, expert, combine ---------------------------------------------------===//

#include "ExpertLayer.h"
#include "Patterns.h"
#include "Router.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

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

/// Ids that a caller gives are checked by the executable.
static void boundIds(Value ids, int64_t experts, OpBuilder &builder) {
  while (CallOp view = getDefiningCall(ids, {"aten.view", "aten.reshape"}))
    ids = view.getValue("self");
  auto argument = dyn_cast<BlockArgument>(ids);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (function && !function.getArgAttr(argument.getArgNumber(), "moe.range"))
    function.setArgAttr(argument.getArgNumber(), "moe.range", builder.getI64ArrayAttr({-1, experts - 1}));
}

/// Replaces ids and weights by those of a gate, if they come from a router that is known.
static void raiseRouter(PatternRewriter &rewriter, Location loc, ExpertLayer &layer, int64_t experts) {
  MLIRContext *context = rewriter.getContext();
  auto options = remark::RemarkOpts::name("Router").category("moe-import");
  std::optional<Router> router = matchRouter(layer.ids, layer.weights, experts, /*why=*/nullptr);
  if (!router)
    return;
  auto number = [&](std::optional<double> value) { return value ? rewriter.getF64FloatAttr(*value) : FloatAttr(); };
  if (router->ids)
    boundIds(router->ids, experts, rewriter);
  auto gate = moe::GateOp::create(
      rewriter, loc, layer.weights.getType(), getTensorType(layer.ids).clone(rewriter.getI32Type()), router->logits,
      router->bias, router->ids, rewriter.getI64IntegerAttr(router->topK), moe::ScoreAttr::get(context, router->score),
      moe::RenormalizeAttr::get(context, router->renormalize), number(router->eps), /*p=*/FloatAttr(),
      number(router->scale), router->groups, /*capacity=*/moe::CapacityAttr());
  // What the model does with pairs of experts that compute nothing follows the layer; it takes the gate's choice as well.
  if (getTensorType(router->logits).getDimSize(1) > experts) {
    auto isLater = [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return user->getBlock() == gate->getBlock() && gate->isBeforeInBlock(user);
    };
    Value ids = createCall(rewriter, loc, "aten.to.dtype", layer.ids.getType(),
                           {{"self", gate.getExperts()}, {"dtype", Attribute(TypeAttr::get(rewriter.getI64Type()))}});
    rewriter.replaceUsesWithIf(layer.ids, ids, isLater);
    rewriter.replaceUsesWithIf(layer.weights, gate.getWeights(), isLater);
  }
  layer.weights = gate.getWeights();
  layer.ids = gate.getExperts();
  remark::passed(loc, options) << remark::metric("top_k", router->topK);
}

Value mlir::aten::createExpertLayer(PatternRewriter &rewriter, Location loc, ExpertLayer layer, Region &activation,
                                    Type result) {
  auto type = getTensorType(layer.tokens);
  int64_t experts = getTensorType(layer.wIn).getDimSize(0);
  if (layer.inTransposed)
    layer.wIn = transposeWeight(rewriter, layer.wIn);
  if (layer.outTransposed)
    layer.wOut = transposeWeight(rewriter, layer.wOut);
  raiseRouter(rewriter, loc, layer, experts);

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
