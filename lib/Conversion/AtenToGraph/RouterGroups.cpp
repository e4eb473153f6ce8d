//===- RouterGroups.cpp - recognising a choice within groups of experts -------------------------------------------===//

#include "Patterns.h"
#include "Router.h"

#include <limits>

using namespace mlir;
using namespace mlir::aten;

/// Group-limited scores for the choice: masked_fill(scores, not mask, -inf or 0), where mask repeats a [T, groups]
/// matrix that has ones at the best groups.
///   group_scores = scores.view(T, n, E/n).topk(2).values.sum(-1)  |  .max(-1).values
///   group_mask = zeros_like(group_scores).scatter(1, group_scores.topk(keep).indices, 1)
Value mlir::aten::matchGroups(Value choice, Router &router) {
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
  // What is chosen beyond the best groups is hidden, and no choice of a router.
  if (grouped.isDynamicDim(2) || router.topK > *keep * grouped.getDimSize(2))
    return {};
  router.groups = moe::GroupsAttr::get(choice.getContext(), grouped.getDimSize(1), *keep, *score);
  return scores;
}
