//===- PlainNorms.cpp - norms that were not raised ----------------------------------------------------------------===//

#include "PlainLayers.h"

using namespace mlir;
using namespace mlir::aten;

/// rsqrt(mean(x^2) + eps), or of a variance; a power of -1/2 and a root that divides are the same.
static bool isInverseRoot(CallOp root) {
  const bool divides = root.getBase() == "aten.sqrt" && llvm::any_of(root->getUsers(), [&](Operation *user) {
                         auto div = dyn_cast<CallOp>(user);
                         return div && div.getBase() == "aten.div" && div.getValue("other") == root.getResult(0);
                       });
  if (root.getBase() != "aten.rsqrt" && !divides &&
      !(root.getBase() == "aten.pow" && root.getFloat("exponent") == -0.5))
    return false;
  Value value = root.getValue("self");
  if (CallOp add = getDefiningCall(value, {"aten.add"}))
    value = add.getValue("self");
  if (getDefiningCall(value, {"aten.var"}))
    return true;
  CallOp mean = getDefiningCall(value, {"aten.mean"});
  return mean && getDefiningCall(mean.getValue("self"), {"aten.pow", "aten.square", "aten.mul"});
}

void mlir::aten::findPlainNorms(func::FuncOp function, SmallVectorImpl<PlainAnchor> &found) {
  function.walk([&](CallOp call) {
    if (call.use_empty())
      return;
    const bool isCall = llvm::is_contained({"aten.rms_norm", "aten.layer_norm"}, call.getBase());
    if (!isCall && !isInverseRoot(call))
      return;
    PlainAnchor &anchor = found.emplace_back(PlainAnchor{moe::LayerKind::Norm, call, {}});
    isCall ? explainNormCall(call, anchor.why) : explainInverseRoot(call, anchor.why);
  });
}
