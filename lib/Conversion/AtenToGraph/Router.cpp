//===- Router.cpp - recognising how a model chooses experts -------------------------------------------------------===//

#include "Router.h"
#include "Patterns.h"

#include <cmath>

using namespace mlir;
using namespace mlir::aten;

static bool matchTopK(CallOp topk, Router &router, Mismatch *why) {
  std::optional<int64_t> k = topk.getInt("k");
  if (!k || !isAlongExperts(topk) || !topk.getBool("largest").value_or(true)) {
    (void)giveUp(why, "choice", "topk does not take a known number of the largest scores of each token",
                 topk.getResult(0));
    return false;
  }
  router.topK = *k;
  return true;
}

static bool isAlongRow(CallOp call, StringRef name) {
  std::optional<SmallVector<int64_t>> dims = call ? call.getInts(name) : std::nullopt;
  return dims && dims->size() == 1 && ((*dims)[0] == -1 || (*dims)[0] == 1) && call.getBool("keepdim").value_or(false);
}

/// sum(w, -1, keepdim), or that + eps, or no less than a number; or the p-norm.
static bool matchDivisor(Value value, Value weights, Router &router) {
  if (CallOp clamp = getDefiningCall(value, {"aten.clamp", "aten.clamp_min"})) {
    router.least = clamp.getFloat("min");
    if (!router.least || !(*router.least > 0) || clamp.getArgument("max"))
      return false;
    value = clamp.getValue("self");
  }
  if (CallOp add = getDefiningCall(value, {"aten.add"})) {
    router.eps = add.getFloat("other");
    if (!router.eps || add.getArgument("alpha"))
      return false;
    value = add.getValue("self");
  }
  if (!isF32(value))
    return false;
  router.renormalize = moe::Renormalize::Sum;
  if (CallOp sum = getDefiningCall(value, {"aten.sum"})) {
    Value summed = sum.getValue("self");
    // The norm of order 1 of what cannot be negative.
    CallOp size = getDefiningCall(summed, {"aten.abs"}), topk = getDefiningCall(weights, {"aten.topk"});
    if (size && topk && getDefiningCall(topk.getValue("self"), {"aten.softmax", "aten.sigmoid"}))
      summed = size.getValue("self");
    return isAlongRow(sum, "dim") && summed == weights;
  }
  CallOp norm = getDefiningCall(value, {"aten.norm", "aten.linalg_vector_norm"});
  router.p = norm ? norm.getFloat(norm.getBase() == "aten.norm" ? "p" : "ord") : std::nullopt;
  if (!router.p || router.eps || router.least || !isAlongRow(norm, "dim") || norm.getValue("self") != weights ||
      !std::isfinite(*router.p) || *router.p < 1)
    return false;
  router.renormalize = moe::Renormalize::PNorm;
  return true;
}

/// What `choice` may be the sum of: scores and a bias for each expert.
static SmallVector<std::pair<Value, Value>> getSums(Value choice) {
  SmallVector<std::pair<Value, Value>> sums;
  CallOp add = getDefiningCall(choice, {"aten.add"});
  for (auto [scoreName, biasName] : {std::pair("self", "other"), std::pair("other", "self")}) {
    Value bias = add && !add.getArgument("alpha") ? add.getValue(biasName) : Value();
    // One of a low precision is widened to the scores' type by the sum, and by the gate.
    if (!getTensorType(bias) || !isModelFloat(getElementTypeOf(bias)) || !isF32(add.getResult(0)))
      continue;
    if (CallOp unsqueeze = getDefiningCall(bias, {"aten.unsqueeze"}))
      bias = unsqueeze.getValue("self");
    if (getTensorType(bias).getRank() == 1 && add.getValue(scoreName))
      sums.push_back({add.getValue(scoreName), bias});
  }
  return sums;
}

/// The ids are topk(choice) where choice comes from `scores`, perhaps with a bias and within groups.
static bool matchChoice(Value ids, Value scores, Router &router, Mismatch *why) {
  CallOp topk = getDefiningCall(ids, {"aten.topk"});
  if (!topk || ids != topk.getResult(1) || !matchTopK(topk, router, why))
    return false;
  Value choice = topk.getValue("self");
  if (choice != scores)
    choice = matchGroups(choice, router);
  if (!choice)
    (void)giveUp(why, "groups", "the experts that topk does not see are not those outside of the best groups",
                 topk.getValue("self"));
  if (!choice || choice == scores)
    return choice != nullptr;
  for (auto [sum, bias] : getSums(choice))
    if (sum == scores) {
      router.bias = bias;
      return true;
    }
  (void)giveUp(why, "choice", "topk chooses by " + nameOf(choice) + ", which is neither the scores nor scores + bias",
               choice);
  return false;
}

/// softmax or sigmoid, computed in f32 and rounded once, as moe.gate does it. PyTorch computes those of a low precision
/// so.
static bool isRoundedOnce(Value weights) {
  CallOp call = getDefiningCall(weights, {"aten.softmax", "aten._softmax", "aten.sigmoid"});
  return call && isModelFloat(getElementTypeOf(weights)) &&
         getElementTypeOf(call.getValue("self")) == getElementTypeOf(weights);
}

/// softmax(topk(logits).values), or sigmoid of them or of gather(logits, ids)
static bool matchAfter(Value ids, Value weights, Router &router, Mismatch *why) {
  CallOp softmax = getDefiningCall(weights, {"aten.softmax", "aten._softmax"});
  CallOp call = softmax ? softmax : getDefiningCall(weights, {"aten.sigmoid"});
  Value chosen = call && (isF32(weights) || isRoundedOnce(weights)) ? skipWidening(call.getValue("self")) : Value();
  CallOp topk = getDefiningCall(chosen, {"aten.topk"}), gather = getDefiningCall(chosen, {"aten.gather"});
  router.score = softmax ? moe::Score::SoftmaxAfter : moe::Score::SigmoidAfter;
  bool alone = softmax ? isAlongExperts(softmax) && router.renormalize == moe::Renormalize::None : call != nullptr;
  if (alone && topk && chosen == topk.getResult(0) && ids == topk.getResult(1)) {
    router.logits = skipWidening(topk.getValue("self"));
    return matchTopK(topk, router, why);
  }
  if (alone && gather && !softmax && gather.getDim("dim", 2) == 1 && skipIdCasts(gather.getValue("index")) == ids &&
      isF32(gather.getValue("self"))) {
    Value logits = gather.getValue("self");
    router.logits = skipWidening(logits);
    return matchChoice(ids, logits, router, why);
  }
  (void)giveUp(why, "weights",
               "they come from " + nameOf(weights) +
                   ", not from topk, from gather(scores, ids), or from softmax or sigmoid of the logits that "
                   "topk chose",
               weights);
  return false;
}

/// topk of scores, perhaps within groups: those outside are hidden, and are not chosen.
static bool matchBest(CallOp topk, Value ids, Value weights, Router &router, Mismatch *why) {
  if (weights != topk.getResult(0) || ids != topk.getResult(1)) {
    (void)giveUp(why, "choice", "ids and weights are not results of one topk", weights);
    return false;
  }
  if (!matchTopK(topk, router, why))
    return false;
  Value scores = matchGroups(topk.getValue("self"), router);
  if (!scores)
    (void)giveUp(why, "groups", "the experts that topk does not see are not those outside of the best groups",
                 topk.getValue("self"));
  return scores && matchScores(scores, router, why);
}

/// gather(scores, ids), where the ids are chosen by the scores or given.
static bool matchGathered(CallOp gather, Value ids, Router &router, Mismatch *why) {
  Value scores = gather.getValue("self");
  if (gather.getDim("dim", 2) != 1 || skipIdCasts(gather.getValue("index")) != ids) {
    (void)giveUp(why, "weights", "they are not gather(scores, ids) over the experts", gather.getResult(0));
    return false;
  }
  if (!matchScores(scores, router, why))
    return false;
  if (matchChoice(ids, scores, router, why))
    return true;
  // The ids come from elsewhere: they are forced.
  router.ids = ids;
  router.bias = Value();
  router.groups = {};
  router.topK = getTensorType(ids).getDimSize(1);
  return !getTensorType(ids).isDynamicDim(1) && !getDefiningCall(ids, {"aten.topk"});
}

/// What is left of the weights when scale and renormalisation are off.
static bool matchChosen(Value ids, Value weights, Router &router, Mismatch *why) {
  if (CallOp topk = getDefiningCall(weights, {"aten.topk"}))
    return matchBest(topk, ids, weights, router, why);
  if (CallOp gather = getDefiningCall(weights, {"aten.gather"}))
    return matchGathered(gather, ids, router, why);
  if (getDefiningCall(weights, {"aten.cat", "aten.concat"}))
    return matchSparseMixer(ids, weights, router, why);
  return matchAfter(ids, weights, router, why);
}

std::optional<Router> mlir::aten::matchRouter(Value ids, Value weights, int64_t experts, Mismatch *why) {
  Router router;
  auto type = getTensorType(weights);
  if (!type || type.getRank() != 2 || !getTensorType(ids) || getTensorType(ids).getRank() != 2)
    return giveUp(why, "weights", "ids or weights are not [T, k]", weights);
  ids = skipIdCasts(ids);
  // From the end: the rounding to the model's type, a scale, the renormalisation.
  if (CallOp cast = getDefiningCall(weights, {"aten.to", "aten.type_as"}))
    if (isF32(cast.getValue("self")))
      weights = cast.getValue("self");
  if (!isF32(weights) && !isRoundedOnce(weights))
    return giveUp(why, "weights", nameOf(weights) + " computes them in another type than f32", weights);
  if (CallOp mul = getDefiningCall(weights, {"aten.mul"})) {
    router.scale = mul.getFloat("other");
    if (!router.scale)
      return giveUp(why, "scale", "the weights are multiplied by something else than a number", weights);
    weights = mul.getValue("self");
  }
  if (CallOp div = getDefiningCall(weights, {"aten.div"})) {
    Value numerator = div.getValue("self");
    if (!isF32(numerator) || div.getArgument("rounding_mode") ||
        !matchDivisor(div.getValue("other"), numerator, router))
      return giveUp(why, "renormalisation", "the weights are not divided by their own sum or norm", weights);
    weights = numerator;
  }
  if (!matchChosen(ids, weights, router, why))
    return giveUp(why, "weights", "they are not those of a choice by topk", weights);
  RankedTensorType logits = getLogitsType(router);
  if (!logits)
    return giveUp(why, "logits", "they are not [T, E] of f32, bf16 or f16, with E known", router.logits);
  // More of them are of experts that compute nothing here: their ids are outside.
  if (logits.getDimSize(1) < experts)
    return giveUp(why, "logits", "there are " + Twine(logits.getDimSize(1)) + " for " + Twine(experts) + " experts",
                  router.logits);
  return router;
}

std::optional<Router> mlir::aten::matchScoredChoice(CallOp topk, Value &scores) {
  Router router;
  auto type = getTensorType(topk.getResult(0));
  if (!type || type.getRank() != 2 || !matchTopK(topk, router, /*why=*/nullptr))
    return std::nullopt;
  Value choice = matchGroups(topk.getValue("self"), router);
  SmallVector<std::pair<Value, Value>> sums = {{choice, Value()}};
  llvm::append_range(sums, getSums(choice));
  for (auto [sum, bias] : sums) {
    Router found = router;
    found.bias = bias;
    if (!sum || !matchScores(sum, found, /*why=*/nullptr) || !getLogitsType(found))
      continue;
    scores = sum;
    return found;
  }
  return std::nullopt;
}

std::optional<Router> mlir::aten::matchLogitChoice(CallOp topk, Value &weights) {
  Router router;
  auto type = getTensorType(topk.getResult(0));
  if (!type || type.getRank() != 2 || !matchTopK(topk, router, /*why=*/nullptr) || !topk.getResult(0).hasOneUse())
    return std::nullopt;
  auto user = dyn_cast<CallOp>(*topk.getResult(0).user_begin());
  if (user && user.getBase() == "aten.to" && user.getResult(0).hasOneUse())
    user = dyn_cast<CallOp>(*user.getResult(0).user_begin());
  if (!user || user.getBase() != "aten.sigmoid" || !matchAfter(topk.getResult(1), user.getResult(0), router, nullptr) ||
      !getLogitsType(router))
    return std::nullopt;
  weights = user.getResult(0);
  return router;
}
