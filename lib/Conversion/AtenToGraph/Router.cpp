//===- Router.cpp - recognising how a model chooses experts -------------------------------------------------------===//

#include "Router.h"
#include "Patterns.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::aten;

static bool isF32(Value value) { return value && getTensorType(value) && getElementTypeOf(value).isF32(); }

/// Casts to f32 are exact; moe.gate makes them itself.
static Value skipWidening(Value value) {
  CallOp cast = getDefiningCall(value, {"aten.to", "aten.float"});
  Value source = cast ? cast.getValue("self") : Value();
  return source && isF32(value) && isa<FloatType>(getElementTypeOf(source)) ? source : value;
}

/// Casts between integer types that hold every expert id.
static Value skipIdCasts(Value value) {
  while (CallOp cast = getDefiningCall(value, {"aten.to"})) {
    Value source = cast.getValue("self");
    if (!isa<IntegerType>(getElementTypeOf(source)) || getElementTypeOf(source).getIntOrFloatBitWidth() < 32 ||
        !isa<IntegerType>(getElementTypeOf(value)))
      break;
    value = source;
  }
  return value;
}

/// True if the call works along the last of two dimensions.
static bool isAlongExperts(CallOp call) { return !call.getArgument("dim") || call.getDim("dim", 2) == 1; }

/// softmax or sigmoid of the logits in f32.
static bool matchScores(Value scores, Router &router, Mismatch *why) {
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
  (void)giveUp(why, "scores", "they come from " + nameOf(scores) + ", not from softmax or sigmoid of the logits",
               scores);
  return false;
}

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

/// sum(w, -1, keepdim) or that + eps.
static bool matchSum(Value value, Value weights, Router &router) {
  if (CallOp add = getDefiningCall(value, {"aten.add"})) {
    router.eps = add.getFloat("other");
    if (!router.eps || add.getArgument("alpha"))
      return false;
    value = add.getValue("self");
  }
  CallOp sum = getDefiningCall(value, {"aten.sum"});
  std::optional<SmallVector<int64_t>> dims = sum ? sum.getInts("dim") : std::nullopt;
  // The norm of order 1 of what cannot be negative.
  if (CallOp size = sum ? getDefiningCall(sum.getValue("self"), {"aten.abs"}) : CallOp())
    if (CallOp topk = getDefiningCall(weights, {"aten.topk"}))
      if (size.getValue("self") == weights && getDefiningCall(topk.getValue("self"), {"aten.softmax", "aten.sigmoid"}))
        return dims && dims->size() == 1 && ((*dims)[0] == -1 || (*dims)[0] == 1) &&
               sum.getBool("keepdim").value_or(false) && isF32(value);
  return dims && dims->size() == 1 && ((*dims)[0] == -1 || (*dims)[0] == 1) && sum.getBool("keepdim").value_or(false) &&
         sum.getValue("self") == weights && isF32(value);
}

/// Group-limited scores for the choice: masked_fill(scores, not mask, -inf or 0), where mask repeats a [T, groups]
/// matrix that has ones at the best groups.
///   group_scores = scores.view(T, n, E/n).topk(2).values.sum(-1)  |  .max(-1).values
///   group_mask = zeros_like(group_scores).scatter(1, group_scores.topk(keep).indices, 1)
static Value matchGroups(Value choice, Router &router) {
  CallOp fill = getDefiningCall(choice, {"aten.masked_fill"});
  // Minus infinity hides an expert from the choice; zero does so as well where every score is positive.
  std::optional<double> value = fill ? fill.getFloat("value") : std::nullopt;
  bool hides = value && (*value == -std::numeric_limits<double>::infinity() ||
                         (*value == 0.0 && getDefiningCall(fill.getValue("self"), {"aten.softmax", "aten.sigmoid"})));
  CallOp inverse = hides ? getDefiningCall(fill.getValue("mask"), {"aten.bitwise_not", "aten.logical_not"}) : CallOp();
  if (!inverse)
    return choice;
  Value scores = fill.getValue("self"), mask = inverse.getValue("self");
  while (CallOp cast = getDefiningCall(mask, {"aten.to"}))
    mask = cast.getValue("self");
  CallOp flat = getDefiningCall(mask, {"aten.reshape", "aten.view"});
  CallOp expand = flat ? getDefiningCall(flat.getValue("self"), {"aten.expand"}) : CallOp();
  CallOp unsqueeze = expand ? getDefiningCall(expand.getValue("self"), {"aten.unsqueeze"}) : CallOp();
  CallOp scatter = unsqueeze && unsqueeze.getDim("dim", 3) == 2
                       ? getDefiningCall(unsqueeze.getValue("self"), {"aten.scatter"})
                       : CallOp();
  if (!scatter || !isAlongExperts(scatter) || scatter.getFloat("value") != 1.0 ||
      !getDefiningCall(scatter.getValue("self"), {"aten.zeros_like", "aten.zeros", "aten.new_zeros"}))
    return {};
  CallOp best = getDefiningCall(scatter.getValue("index"), {"aten.topk"});
  std::optional<int64_t> keep =
      best && scatter.getValue("index") == best.getResult(1) && isAlongExperts(best) ? best.getInt("k") : std::nullopt;
  if (!keep || !best.getBool("largest").value_or(true))
    return {};

  Value groupScores = best.getValue("self");
  std::optional<moe::GroupScore> score;
  CallOp view;
  if (CallOp sum = getDefiningCall(groupScores, {"aten.sum"})) {
    CallOp top2 = getDefiningCall(sum.getValue("self"), {"aten.topk"});
    std::optional<SmallVector<int64_t>> dims = sum.getInts("dim");
    if (!top2 || sum.getValue("self") != top2.getResult(0) || top2.getInt("k") != 2 || !dims || dims->size() != 1 ||
        ((*dims)[0] != -1 && (*dims)[0] != 2) || (top2.getArgument("dim") && top2.getDim("dim", 3) != 2))
      return {};
    score = moe::GroupScore::Top2Sum;
    view = getDefiningCall(top2.getValue("self"), {"aten.view", "aten.reshape"});
  } else if (CallOp max = getDefiningCall(groupScores, {"aten.max", "aten.amax"})) {
    if (groupScores != max.getResult(0) ||
        max.getInts("dim").value_or(SmallVector<int64_t>{}) != SmallVector<int64_t>{-1})
      return {};
    score = moe::GroupScore::Max;
    view = getDefiningCall(max.getValue("self"), {"aten.view", "aten.reshape"});
  }
  auto grouped = view ? getTensorType(view.getResult(0)) : RankedTensorType();
  if (!grouped || view.getValue("self") != scores || grouped.getRank() != 3 || grouped.isDynamicDim(1) ||
      getTensorType(expand.getResult(0)).getShape().take_back(2) != grouped.getShape().take_back(2))
    return {};
  router.groups = moe::GroupsAttr::get(choice.getContext(), grouped.getDimSize(1), *keep, *score);
  return scores;
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
  CallOp add = getDefiningCall(choice, {"aten.add"});
  for (auto [scoreName, biasName] : {std::pair("self", "other"), std::pair("other", "self")}) {
    if (!add || add.getArgument("alpha"))
      break;
    Value bias = add.getValue(biasName);
    if (add.getValue(scoreName) != scores || !isF32(bias))
      continue;
    if (CallOp unsqueeze = getDefiningCall(bias, {"aten.unsqueeze"}))
      bias = unsqueeze.getValue("self");
    if (getTensorType(bias).getRank() != 1)
      break;
    router.bias = bias;
    return true;
  }
  (void)giveUp(why, "choice", "topk chooses by " + nameOf(choice) + ", which is neither the scores nor scores + bias",
               choice);
  return false;
}

/// softmax(topk(logits).values)
static bool matchSoftmaxAfter(Value ids, Value weights, Router &router, Mismatch *why) {
  CallOp softmax = getDefiningCall(weights, {"aten.softmax", "aten._softmax"});
  CallOp topk = softmax ? getDefiningCall(skipWidening(softmax.getValue("self")), {"aten.topk"}) : CallOp();
  if (!topk || !isF32(weights) || !isAlongExperts(softmax) ||
      topk.getResult(0) != skipWidening(softmax.getValue("self")) || ids != topk.getResult(1)) {
    (void)giveUp(why, "weights",
                 "they come from " + nameOf(weights) +
                     ", not from topk, from gather(scores, ids), or from softmax of "
                     "the logits that topk chose",
                 weights);
    return false;
  }
  router.logits = skipWidening(topk.getValue("self"));
  router.score = moe::Score::SoftmaxAfter;
  return matchTopK(topk, router, why);
}

std::optional<Router> mlir::aten::matchRouter(Value ids, Value weights, int64_t experts, Mismatch *why) {
  Router router;
  auto type = getTensorType(weights);
  if (!type || type.getRank() != 2 || getTensorType(ids).getRank() != 2)
    return giveUp(why, "weights", "ids or weights are not [T, k]", weights);
  ids = skipIdCasts(ids);
  // From the end: the rounding to the model's type, a scale, the renormalisation.
  if (CallOp cast = getDefiningCall(weights, {"aten.to", "aten.type_as"}))
    if (isF32(cast.getValue("self")))
      weights = cast.getValue("self");
  if (!isF32(weights))
    return giveUp(why, "weights", nameOf(weights) + " computes them in another type than f32", weights);
  if (CallOp mul = getDefiningCall(weights, {"aten.mul"})) {
    router.scale = mul.getFloat("other");
    if (!router.scale)
      return giveUp(why, "scale", "the weights are multiplied by something else than a number", weights);
    weights = mul.getValue("self");
  }
  if (CallOp div = getDefiningCall(weights, {"aten.div"})) {
    Value numerator = div.getValue("self");
    if (!isF32(numerator) || div.getArgument("rounding_mode") || !matchSum(div.getValue("other"), numerator, router))
      return giveUp(why, "renormalisation", "the weights are not divided by their own sum", weights);
    router.renormalize = moe::Renormalize::Sum;
    weights = numerator;
  }

  bool found = false;
  if (CallOp topk = getDefiningCall(weights, {"aten.topk"})) {
    if (weights != topk.getResult(0) || ids != topk.getResult(1))
      return giveUp(why, "choice", "ids and weights are not results of one topk", weights);
    found = matchTopK(topk, router, why) && matchScores(topk.getValue("self"), router, why);
  } else if (CallOp gather = getDefiningCall(weights, {"aten.gather"})) {
    Value scores = gather.getValue("self");
    if (gather.getDim("dim", 2) != 1 || skipIdCasts(gather.getValue("index")) != ids)
      return giveUp(why, "weights", "they are not gather(scores, ids) over the experts", weights);
    found = matchScores(scores, router, why);
    if (found && !matchChoice(ids, scores, router, why)) {
      // The ids come from elsewhere: they are forced.
      router.ids = ids;
      router.bias = Value();
      router.groups = {};
      router.topK = getTensorType(ids).getDimSize(1);
      found = !getTensorType(ids).isDynamicDim(1) && !getDefiningCall(ids, {"aten.topk"});
    }
  } else if (router.renormalize == moe::Renormalize::None) {
    found = matchSoftmaxAfter(ids, weights, router, why);
  }
  if (!found)
    return giveUp(why, "weights",
                  "what is divided by its sum comes from " + nameOf(weights) + ", not from topk or gather(scores, ids)",
                  weights);
  auto logits = getTensorType(router.logits);
  if (!logits || logits.getRank() != 2 || logits.isDynamicDim(1) ||
      !(logits.getElementType().isF32() || logits.getElementType().isBF16()))
    return giveUp(why, "logits", "they are not [T, E] of f32 or bf16, with E known", router.logits);
  // More of them are of experts that compute nothing here: their ids are outside.
  if (logits.getDimSize(1) < experts)
    return giveUp(why, "logits", "there are " + Twine(logits.getDimSize(1)) + " for " + Twine(experts) + " experts",
                  router.logits);
  return router;
}
