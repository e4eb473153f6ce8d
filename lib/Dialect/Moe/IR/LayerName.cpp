//===- LayerName.cpp - what a layer is called in reports, traces and tables ---------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/LayerName.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

using namespace mlir;
using namespace mlir::moe;

/// The experts that `op`'s results lead to through other ops of the layer.
static ExpertOp expertBehind(Operation *op) {
  if (auto expert = dyn_cast<ExpertOp>(op))
    return expert;
  for (Operation *user : op->getUsers())
    if (isa<ExpertOp, DispatchOp, AllToAllOp>(user))
      if (ExpertOp expert = expertBehind(user))
        return expert;
  return {};
}

std::string mlir::moe::layerName(Operation *op) {
  ExpertOp expert = expertBehind(op);
  auto weight = expert ? expert.getWIn().getDefiningOp<ParameterOp>() : ParameterOp();
  if (!weight)
    return "moe";
  StringRef key = cast<StringAttr>(weight.getSources()[0]).getValue();
  if (size_t end = key.find(".experts"); end != StringRef::npos)
    return key.take_front(end).str();
  return key.rsplit('.').first.str();
}
