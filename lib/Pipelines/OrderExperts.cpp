//===- OrderExperts.cpp - experts of a layer in another order -----------------------------------------------------===//
//
// Ids stay as the gate gives them: the dispatch says at which place each expert stands, and the recipes of the weights
// put it there. So the archive has the experts in this order, and a rank maps one part of it.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "DivideLayers.h"

#include "moe-mlir/Dialect/Moe/IR/LayerName.h"
#include "moe-mlir/Support/UserFault.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace moe_mlir;

/// The parameter with another step at the end of its recipe; once for all that read it.
static moe::ParameterOp withStep(moe::ParameterOp parameter, Attribute step) {
  SmallVector<Attribute> recipe;
  if (parameter.getRecipe())
    recipe.append(parameter.getRecipe()->begin(), parameter.getRecipe()->end());
  recipe.push_back(step);
  auto attr = ArrayAttr::get(parameter.getContext(), recipe);
  auto next = dyn_cast_or_null<moe::ParameterOp>(parameter->getNextNode());
  if (next && next.getSources() == parameter.getSources() && next.getRecipe() == attr)
    return next;
  OpBuilder b(parameter);
  b.setInsertionPointAfter(parameter);
  auto result = cast<moe::ParameterOp>(b.clone(*parameter));
  result.setRecipeAttr(attr);
  return result;
}

LogicalResult moe_mlir::orderExperts(DividedLayer &layer, const ExpertOrders &orders) {
  moe::DispatchOp dispatch = layer.dispatch;
  std::string error;
  std::optional<ArrayRef<int32_t>> order = orders.of(moe::layerName(dispatch), layer.numExperts(), error);
  if (!order)
    return asUserFault(dispatch.emitOpError()) << "cannot order its experts: " << error;
  if (order->empty())
    return success();
  if (dispatch.getOrder())
    return asUserFault(dispatch.emitOpError("has an order of its experts already; leave 'experts' out"));
  auto step = moe::OrderAttr::get(dispatch.getContext(), *order);
  dispatch.setOrderAttr(step);
  for (moe::ExpertOp expert : layer.experts)
    for (OpOperand *operand : weightsOf(expert)) {
      auto parameter = operand->get().getDefiningOp<moe::ParameterOp>();
      operand->set(withStep(parameter, step));
      if (parameter->use_empty())
        parameter->erase();
    }
  return success();
}
