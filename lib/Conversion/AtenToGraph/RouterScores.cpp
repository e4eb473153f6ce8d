//===- RouterScores.cpp - recognising the scores that a router chooses by -----------------------------------------===//

#include "Patterns.h"
#include "Router.h"

using namespace mlir;
using namespace mlir::aten;

bool mlir::aten::isF32(Value value) { return value && getTensorType(value) && getElementTypeOf(value).isF32(); }

Value mlir::aten::skipWidening(Value value) {
  CallOp cast = getDefiningCall(value, {"aten.to", "aten.float"});
  Value source = cast ? cast.getValue("self") : Value();
  return source && isF32(value) && isa<FloatType>(getElementTypeOf(source)) ? source : value;
}

Value mlir::aten::skipIdCasts(Value value) {
  while (CallOp cast = getDefiningCall(value, {"aten.to"})) {
    Value source = cast.getValue("self");
    if (!isa<IntegerType>(getElementTypeOf(source)) || getElementTypeOf(source).getIntOrFloatBitWidth() < 32 ||
        !isa<IntegerType>(getElementTypeOf(value)))
      break;
    value = source;
  }
  return value;
}

bool mlir::aten::isAlongExperts(CallOp call) { return !call.getArgument("dim") || call.getDim("dim", 2) == 1; }

/// sqrt(softplus(x)). From the threshold on, softplus(x) is x, which it is in f32 for 20 and above.
static Value matchSqrtSoftplus(Value scores) {
  CallOp root = getDefiningCall(scores, {"aten.sqrt"});
  CallOp softplus = root ? getDefiningCall(root.getValue("self"), {"aten.softplus"}) : CallOp();
  if (!softplus || (softplus.getArgument("beta") && softplus.getFloat("beta") != 1.0) ||
      (softplus.getArgument("threshold") && softplus.getFloat("threshold").value_or(0) < 20))
    return {};
  return softplus.getValue("self");
}

RankedTensorType mlir::aten::getLogitsType(const Router &router) {
  auto type = dyn_cast_or_null<RankedTensorType>(router.logits ? router.logits.getType() : Type());
  if (!type || type.getRank() != 2 || !isModelFloat(type.getElementType()))
    return {};
  if (CallOp part = router.part)
    type = type.clone(getTensorType(part.getResult(0)).getShape());
  return type.isDynamicDim(1) ? RankedTensorType() : type;
}

bool mlir::aten::matchScores(Value scores, Router &router, Mismatch *why) {
  // Experts that take every token have scores as well, but are not chosen.
  if (CallOp slice = getDefiningCall(scores, {"aten.slice"});
      slice && slice.getDim("dim", 2) == 1 && getDefiningCall(slice.getValue("self"), {"aten.sigmoid", "aten.sqrt"})) {
    router.part = slice;
    return matchScores(slice.getValue("self"), router, why);
  }
  if (!isF32(scores) || getTensorType(scores).getRank() != 2) {
    (void)giveUp(why, "scores", "they are not [T, E] in f32, which decides between experts without rounding", scores);
    return false;
  }
  if (CallOp softmax = getDefiningCall(scores, {"aten.softmax", "aten._softmax"})) {
    // Its dtype argument casts before the softmax.
    router.logits = skipWidening(softmax.getValue("self"));
    router.score = moe::Score::Softmax;
    if (!isAlongExperts(softmax))
      (void)giveUp(why, "scores", "the softmax is not over the experts", scores);
    return isAlongExperts(softmax);
  }
  if (CallOp sigmoid = getDefiningCall(scores, {"aten.sigmoid"})) {
    router.logits = skipWidening(sigmoid.getValue("self"));
    router.score = moe::Score::Sigmoid;
    return true;
  }
  if (Value logits = matchSqrtSoftplus(scores)) {
    router.logits = skipWidening(logits);
    router.score = moe::Score::SqrtSoftplus;
    return true;
  }
  (void)giveUp(why, "scores",
               "they come from " + nameOf(scores) + ", not from softmax, sigmoid or sqrt(softplus) of the logits",
               scores);
  return false;
}
