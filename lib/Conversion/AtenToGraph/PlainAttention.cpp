//===- PlainAttention.cpp - attention that was not raised ---------------------------------------------------------===//
//
// Either the call of PyTorch, or its parts: a product of queries and keys, a softmax over the keys, and a product with
// the values.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "PlainLayers.h"

using namespace mlir;
using namespace mlir::aten;

static CallOp getProduct(Value value) { return getDefiningCall(value, {"aten.matmul", "aten.bmm"}); }

namespace {
/// What lies between the first product and the softmax.
struct Scores {
  CallOp product;
  bool joined = false, capped = false;
};
} // namespace

/// Follows the scores of a softmax back to a product of two computed tensors.
static std::optional<Scores> matchScores(Value value) {
  static constexpr StringRef steps[] = {"aten.mul",         "aten.div",        "aten.add",  "aten.sub",
                                        "aten.masked_fill", "aten.where",      "aten.to",   "aten.cat",
                                        "aten.tanh",        "aten.float",      "aten.view", "aten.reshape",
                                        "aten.clamp",       "aten.contiguous", "aten.slice"};
  Scores scores;
  for (unsigned depth = 0; depth < 16; ++depth) {
    CallOp call = value.getDefiningOp<CallOp>();
    if (CallOp product = getProduct(value)) {
      RankedTensorType type = getTensorType(value);
      if (!type || type.getRank() < 3)
        return std::nullopt;
      scores.product = product;
      return scores;
    }
    if (!call || !llvm::is_contained(steps, call.getBase()))
      return std::nullopt;
    scores.joined |= call.getBase() == "aten.cat";
    scores.capped |= call.getBase() == "aten.tanh";
    auto list = dyn_cast_or_null<ArrayAttr>(call.getArgument("tensors"));
    // The operand that varies most: a mask or a maximum has less to say.
    Value next = list && !list.empty() ? call.getOperandOf(list[0]) : call.getValue("self");
    if (!next)
      return std::nullopt;
    value = next;
  }
  return std::nullopt;
}

/// The product of a softmax with the values.
static CallOp findValues(Value weights) {
  static constexpr StringRef steps[] = {"aten.to",         "aten.dropout", "aten.slice",  "aten.view",
                                        "aten.reshape",    "aten.float",   "aten.expand", "aten.masked_fill",
                                        "aten.contiguous", "aten.type_as"};
  SmallVector<Value> pending = {weights};
  for (unsigned seen = 0; !pending.empty() && seen < 32; ++seen)
    for (Operation *user : pending.pop_back_val().getUsers()) {
      auto call = dyn_cast<CallOp>(user);
      if (!call)
        continue;
      if (llvm::is_contained({"aten.matmul", "aten.bmm"}, call.getBase()))
        return call;
      if (llvm::is_contained(steps, call.getBase()))
        pending.push_back(call.getResult(0));
    }
  return {};
}

static void findParts(CallOp softmax, SmallVectorImpl<PlainAnchor> &found) {
  RankedTensorType type = getTensorType(softmax.getResult(0));
  Value self = softmax.getValue("self");
  if (!type || !self || softmax.getDim("dim", type.getRank()) != type.getRank() - 1)
    return;
  std::optional<Scores> scores = matchScores(self);
  CallOp values = scores ? findValues(softmax.getResult(0)) : CallOp();
  if (!values)
    return;
  PlainAnchor &anchor = found.emplace_back(PlainAnchor{moe::LayerKind::Attention, softmax, {}});
  if (scores->joined)
    (void)giveUp(&anchor.why, "scores", "they are joined with columns that no key has (an attention sink)");
  else if (scores->capped)
    (void)giveUp(&anchor.why, "scores", "they pass tanh (a soft cap)");
  else
    (void)giveUp(&anchor.why, "call",
                 "it is written out as product, softmax and product; only scaled_dot_product_attention is known "
                 "(attn_implementation=\"sdpa\" in transformers)");
}

void mlir::aten::findPlainAttention(func::FuncOp function, SmallVectorImpl<PlainAnchor> &found) {
  function.walk([&](CallOp call) {
    if (call.use_empty())
      return;
    if (isAttentionCall(call)) {
      PlainAnchor &anchor = found.emplace_back(PlainAnchor{moe::LayerKind::Attention, call, {}});
      explainAttentionCall(call, anchor.why);
    } else if (llvm::is_contained({"aten.softmax", "aten._softmax"}, call.getBase())) {
      findParts(call, found);
    }
  });
}
