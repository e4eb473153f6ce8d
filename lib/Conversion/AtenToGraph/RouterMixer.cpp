//===- RouterMixer.cpp - recognising SparseMixer ------------------------------------------------------------------===//

#include "Patterns.h"
#include "Router.h"

#include <limits>

using namespace mlir;
using namespace mlir::aten;

static constexpr double kHidden = -std::numeric_limits<double>::infinity();

namespace {
/// One choice: max(left, -1) of the experts that are left, and its weight.
struct Slot {
  CallOp max;
  Value left, logits;
  double threshold;
};
} // namespace

/// (max - logits) / clamp(abs(logits), min = max) > threshold
static bool matchFar(Value mask, CallOp max, Slot &slot) {
  CallOp above = getDefiningCall(mask, {"aten.gt"});
  std::optional<double> threshold = above ? above.getFloat("other") : std::nullopt;
  CallOp quotient = threshold ? getDefiningCall(above.getValue("self"), {"aten.div"}) : CallOp();
  CallOp difference = quotient ? getDefiningCall(quotient.getValue("self"), {"aten.sub"}) : CallOp();
  CallOp size = quotient ? getDefiningCall(quotient.getValue("other"), {"aten.clamp", "aten.clamp_min"}) : CallOp();
  CallOp abs = size ? getDefiningCall(size.getValue("self"), {"aten.abs"}) : CallOp();
  if (!difference || !abs || quotient.getArgument("rounding_mode") || difference.getArgument("alpha") ||
      size.getArgument("max") || size.getValue("min") != max.getResult(0) ||
      difference.getValue("self") != max.getResult(0))
    return false;
  slot.logits = difference.getValue("other");
  slot.threshold = *threshold;
  return abs.getValue("self") == slot.logits;
}

/// gather(softmax(masked_fill(left, far, -inf)), id) for the id of max(left)
static std::optional<Slot> matchSlot(Value id, Value weight) {
  Slot slot;
  slot.max = getDefiningCall(skipIdCasts(id), {"aten.max"});
  CallOp gather = getDefiningCall(weight, {"aten.gather"});
  CallOp softmax = gather ? getDefiningCall(gather.getValue("self"), {"aten.softmax", "aten._softmax"}) : CallOp();
  CallOp fill = softmax ? getDefiningCall(softmax.getValue("self"), {"aten.masked_fill"}) : CallOp();
  if (!slot.max || slot.max.getNumResults() != 2 || !fill || !isF32(weight) || gather.getDim("dim", 2) != 1 ||
      !isAlongExperts(softmax) || slot.max.getDim("dim", 2) != 1 || !slot.max.getBool("keepdim").value_or(false) ||
      skipIdCasts(id) != slot.max.getResult(1) || skipIdCasts(gather.getValue("index")) != slot.max.getResult(1) ||
      fill.getFloat("value") != kHidden)
    return std::nullopt;
  slot.left = slot.max.getValue("self");
  if (!isF32(slot.left) || getTensorType(slot.left).getRank() != 2 || fill.getValue("self") != slot.left ||
      !matchFar(fill.getValue("mask"), slot.max, slot))
    return std::nullopt;
  return slot;
}

bool mlir::aten::matchSparseMixer(Value ids, Value weights, Router &router, Mismatch *why) {
  static constexpr StringRef joins[] = {"aten.cat", "aten.concat"};
  CallOp allIds = getDefiningCall(ids, joins), allWeights = getDefiningCall(weights, joins);
  auto idList = allIds ? dyn_cast_or_null<ArrayAttr>(allIds.getArgument("tensors")) : ArrayAttr();
  auto weightList = allWeights ? dyn_cast_or_null<ArrayAttr>(allWeights.getArgument("tensors")) : ArrayAttr();
  auto no = [&](const Twine &reason) {
    (void)giveUp(why, "weights", reason, weights);
    return false;
  };
  if (!idList || !weightList || idList.empty() || idList.size() != weightList.size() ||
      allIds.getDim("dim", 2) != 1 || allWeights.getDim("dim", 2) != 1)
    return no("ids and weights are not joined slot by slot");
  std::optional<Slot> last;
  for (auto [id, weight] : llvm::zip_equal(idList, weightList)) {
    std::optional<Slot> slot = matchSlot(allIds.getOperandOf(id), allWeights.getOperandOf(weight));
    if (!slot)
      return no("a slot is not the softmax at the largest logit over those that are near it");
    // The first slot chooses from all; what a slot takes is hidden from the next one.
    Value before = last ? last->left : slot->logits;
    CallOp scatter = last ? getDefiningCall(slot->left, {"aten.scatter"}) : CallOp();
    bool follows = last ? scatter && scatter.getValue("self") == before && scatter.getDim("dim", 2) == 1 &&
                              scatter.getFloat("value") == kHidden &&
                              skipIdCasts(scatter.getValue("index")) == last->max.getResult(1) &&
                              slot->logits == last->logits && slot->threshold == last->threshold
                        : slot->left == before;
    if (!follows)
      return no("a slot does not choose from what the slots before have left");
    last = slot;
  }
  if (!(last->threshold >= 0))
    return no("the threshold is negative");
  router.logits = last->logits;
  router.score = moe::Score::SparseMixer;
  router.jitter = last->threshold / 2;
  router.topK = idList.size();
  return true;
}
