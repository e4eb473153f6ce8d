//===- PlainExperts.cpp - MoE layers and routers that were not raised ---------------------------------------------===//
//
// 1. Calls of moe_mlir::experts that are left.
// 2. Layers that were raised without their router: the ids come from a choice (topk and the like), not from moe.gate.
// 3. Products with the matrices of chosen experts, grouped or gathered; those that end in one sum are a layer.
// 4. Choices that none of these explains. Such a one is a router's if it chooses between the results of a linear layer
//    and decides about tensors as wide as what that layer reads; choosing a token of a vocabulary does neither.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "PlainLayers.h"
#include "Router.h"
#include "UnfusedExperts.h"

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::aten;

/// Ops that a walk through the graph looks at: more than any router or activation has, less than a model.
static constexpr unsigned maxSteps = 64;
/// Ops behind a product or a choice among which its layer ends: more than any layer has. Without a bound the time would
/// grow with the square of what a file holds.
static constexpr unsigned maxReach = 4096;

/// Calls visit(op) for the ops that compute `value`, nearest first, until it says not to look behind one.
static void walkBack(Value value, function_ref<bool(Operation *)> visit) {
  llvm::SetVector<Operation *> ops;
  auto add = [&](Value read) {
    if (Operation *op = read.getDefiningOp())
      ops.insert(op);
  };
  add(value);
  for (unsigned i = 0; i < ops.size() && i < maxSteps; ++i)
    if (Operation *op = ops[i]; visit(op))
      for (Value read : op->getOperands())
        add(read);
}

/// Says which numbers are the largest, or sorts them.
static bool isChoice(Operation *op) {
  auto call = dyn_cast<CallOp>(op);
  if (!call || call.use_empty())
    return false;
  if (llvm::is_contained({"aten.topk", "aten.sort"}, call.getBase()))
    return isa_and_nonnull<FloatType>(getElementTypeOf(call.getResult(0)));
  if (call.getBase() == "aten.max") // without its second result it is a number like others
    return call.getNumResults() == 2 && !call.getResult(1).use_empty();
  return llvm::is_contained({"aten.argmax", "aten.argsort"}, call.getBase());
}

/// The choice that ids or weights come from.
static CallOp findChoice(ValueRange values, llvm::SmallPtrSetImpl<Operation *> &all) {
  CallOp first;
  for (Value value : values)
    walkBack(value, [&](Operation *op) {
      if (isChoice(op)) {
        all.insert(op);
        first = first ? first : cast<CallOp>(op);
      }
      return isa<CallOp>(op);
    });
  return first;
}

static bool isFromGate(Value ids) {
  while (CallOp call = getDefiningCall(ids, {"aten.to", "aten.view", "aten.reshape", "aten.masked_fill"}))
    ids = call.getValue("self");
  return ids.getDefiningOp<moe::GateOp>() != nullptr;
}

/// [E, in, out] or [E, out, in] behind views and casts; `gathered` says that chosen matrices are copied.
static Value getExpertMatrices(Value value, bool gathered) {
  for (unsigned step = 0; value && step < 8; ++step) {
    RankedTensorType type = getTensorType(value);
    if (!gathered && type && type.getRank() == 3 && type.hasStaticShape() && type.getDimSize(0) > 1 &&
        (isa<BlockArgument>(value) || value.getDefiningOp<moe::ParameterOp>()))
      return value;
    CallOp call = value.getDefiningOp<CallOp>();
    if (!call)
      return {};
    Value self = call.getValue("self");
    if (gathered && llvm::is_contained({"aten.index", "aten.index_select"}, call.getBase())) {
      RankedTensorType source = getTensorType(self);
      return source && source.getRank() == 3 && source.hasStaticShape() ? self : Value();
    }
    if (!llvm::is_contained({"aten.transpose", "aten.permute", "aten.to", "aten.unsqueeze", "aten.expand", "aten.view",
                             "aten.reshape", "aten.contiguous"},
                            call.getBase()))
      return {};
    value = self;
  }
  return {};
}

static bool isProductOf(Operation *op, bool gathered, std::optional<int64_t> experts = std::nullopt) {
  if (auto batch = dyn_cast<nn::BatchLinearOp>(op))
    return !gathered && experts && getTensorType(batch.getWeight()).getDimSize(0) == *experts;
  auto call = dyn_cast<CallOp>(op);
  if (!call || !llvm::is_contained({"aten.bmm", "aten.matmul", "aten.einsum", "aten.baddbmm"}, call.getBase()))
    return false;
  return llvm::any_of(call->getOperands(), [&](Value operand) {
    Value matrices = getExpertMatrices(operand, gathered);
    return matrices && (!experts || getTensorType(matrices).getDimSize(0) == *experts);
  });
}

static bool isGroupedProduct(Operation *op) {
  auto call = dyn_cast<CallOp>(op);
  return call && llvm::is_contained({"aten._grouped_mm", "transformers.grouped_mm_fallback"}, call.getBase());
}

/// Calls visit(op) for the ops behind `start` that depend on it, in the order of the block, until it returns false.
static void walkForward(Operation *start, function_ref<bool(Operation *)> visit) {
  llvm::DenseSet<Value> dependent(start->result_begin(), start->result_end());
  unsigned reached = 0;
  for (Operation *op = start->getNextNode(); op && reached < maxReach; op = op->getNextNode(), ++reached) {
    if (llvm::none_of(op->getOperands(), [&](Value read) { return dependent.contains(read); }))
      continue;
    if (!visit(op))
      return;
    if (!isa<nn::EmbeddingOp>(op)) // a token that was chosen is another matter
      dependent.insert(op->result_begin(), op->result_end());
  }
}

/// The call that adds the rows of a token.
static CallOp findSum(Operation *product) {
  CallOp sum;
  walkForward(product, [&](Operation *op) {
    auto call = dyn_cast<CallOp>(op);
    if (call &&
        (llvm::is_contained({"aten.sum", "aten.index_add", "aten.scatter_add", "aten.index_reduce"}, call.getBase()) ||
         (call.getBase() == "aten.index_put" && call.getBool("accumulate").value_or(false))))
      sum = call;
    return !sum;
  });
  return sum;
}

static void explainProducts(CallOp sum, bool grouped, Mismatch &why) {
  if (!sum) {
    (void)giveUp(&why, "sum", "the rows of a token's experts are not summed");
    return;
  }
  if (sum.getBase() != "aten.sum") {
    (void)giveUp(&why, "sum", "the rows are added by " + sum.getBase() + ", not by view(T, k, H).sum(1)",
                 sum.getResult(0));
    return;
  }
  std::optional<UnfusedExperts> experts = grouped ? matchGroupedExperts(sum, &why) : matchBatchedExperts(sum, &why);
  if (experts)
    (void)checkUnfusedExperts(*experts, &why);
}

namespace {
/// A linear layer whose results are chosen from.
struct Logits {
  int64_t experts, width;
};
} // namespace

static std::optional<Logits> findLogits(CallOp choice) {
  std::optional<Logits> logits;
  Value self = choice.getValue("self");
  RankedTensorType type = getTensorType(self);
  if (!type || type.getRank() < 2)
    return std::nullopt;
  ArrayRef<int64_t> shape = type.getShape(), last = shape.take_back(2);
  walkBack(self, [&](Operation *op) {
    auto linear = dyn_cast<nn::LinearOp>(op);
    if (!linear)
      return isa<CallOp>(op) && !llvm::is_contained({"aten.matmul", "aten.bmm"}, cast<CallOp>(op).getBase());
    int64_t experts = cast<ShapedType>(linear.getResult().getType()).getShape().back();
    int64_t width = cast<ShapedType>(linear.getX().getType()).getShape().back();
    const bool ofGroups = shape.size() == 3 && !ShapedType::isDynamic(last[0]) && !ShapedType::isDynamic(last[1]) &&
                          last[0] * last[1] == experts;
    if (!logits && experts > 1 && !ShapedType::isDynamic(width) && (llvm::is_contained(shape, experts) || ofGroups))
      logits = {experts, width};
    return false;
  });
  return logits;
}

/// The layer of a choice that nothing else explains, if it decides about tensors.
static void findUnknownLayer(CallOp choice, const llvm::SmallPtrSetImpl<Operation *> &covered,
                             llvm::SmallPtrSetImpl<Operation *> &seen, SmallVectorImpl<PlainAnchor> &found) {
  std::optional<Logits> logits = findLogits(choice);
  if (!logits)
    return;
  Operation *decided = nullptr, *product = nullptr;
  bool explained = false;
  llvm::DenseSet<Value> after;
  walkForward(choice, [&](Operation *op) {
    explained |= covered.contains(op);
    if (decided && isChoice(op) && llvm::any_of(op->getOperands(), [&](Value read) { return after.contains(read); }))
      return false; // the next layer's
    RankedTensorType type = op->getNumResults() ? getTensorType(op->getResult(0)) : RankedTensorType();
    if (!decided && !isa<nn::EmbeddingOp>(op) && type && isa<FloatType>(type.getElementType()) && type.getRank() > 1 &&
        type.getShape().back() == logits->width)
      decided = op;
    if (decided)
      after.insert(op->result_begin(), op->result_end());
    if (!product && isProductOf(op, /*gathered=*/false, logits->experts))
      product = op;
    return !explained;
  });
  if (explained || !decided || !seen.insert(decided).second)
    return;
  if (!product)
    for (Value read : decided->getOperands())
      walkBack(read, [&](Operation *op) {
        if (!product && isProductOf(op, /*gathered=*/false, logits->experts))
          product = op;
        return isa<CallOp>(op) && op != choice;
      });
  PlainAnchor &anchor = found.emplace_back(PlainAnchor{moe::LayerKind::Moe, product ? product : choice, {}});
  if (product)
    (void)giveUp(&anchor.why, "products", "all " + Twine(logits->experts) + " experts run on every token");
  else
    (void)giveUp(&anchor.why, "products",
                 "a choice between " + Twine(logits->experts) +
                     " experts is made, and what follows is neither moe_mlir::experts nor the experts grouped_mm or "
                     "batched_mm of transformers");
}

void mlir::aten::findPlainExperts(func::FuncOp function, SmallVectorImpl<PlainAnchor> &found) {
  llvm::SmallPtrSet<Operation *, 16> covered, seen;              // covered: ops of layers that are known, raised or not
  llvm::MapVector<Operation *, SmallVector<Operation *>> layers; // products by their sum
  SmallVector<CallOp> choices;
  function.walk([&](Operation *op) {
    if (auto combine = dyn_cast<moe::CombineOp>(op)) {
      auto dispatch = combine.getLayout().getDefiningOp<moe::DispatchOp>();
      covered.insert(op);
      if (!dispatch)
        return;
      covered.insert(dispatch);
      if (isFromGate(dispatch.getExperts()))
        return;
      SmallVector<Value> values = {dispatch.getExperts()};
      if (Value weights = combine.getWeights())
        values.push_back(weights);
      CallOp choice = findChoice(values, covered);
      if (!choice || values.size() != 2)
        return; // ids and weights are the caller's
      PlainAnchor &anchor = found.emplace_back(PlainAnchor{moe::LayerKind::Router, choice, {}});
      (void)matchRouter(values[0], values[1], dispatch.getLayout().getType().getExperts(), &anchor.why);
      return;
    }
    auto call = dyn_cast<CallOp>(op);
    if (!call || call.use_empty())
      return;
    if (call.getBase() == "moe_mlir.experts") {
      covered.insert(op);
      PlainAnchor &anchor = found.emplace_back(PlainAnchor{moe::LayerKind::Moe, call, {}});
      explainExpertsCall(call, anchor.why);
    } else if (isGroupedProduct(op) || isProductOf(op, /*gathered=*/true)) {
      covered.insert(op);
      layers[findSum(op).getOperation()].push_back(op);
    } else if (isChoice(op)) {
      choices.push_back(call);
    }
  });
  for (auto &[sum, products] : layers) {
    PlainAnchor &anchor = found.emplace_back(PlainAnchor{moe::LayerKind::Moe, products.front(), {}});
    explainProducts(cast_if_present<CallOp>(sum), isGroupedProduct(products.front()), anchor.why);
  }
  for (CallOp choice : choices)
    if (!covered.contains(choice))
      findUnknownLayer(choice, covered, seen, found);
}
