//===- RaiseRouter.cpp - a router becomes moe.gate ----------------------------------------------------------------===//
//
// A router that is known as a whole gives way to moe.gate. Of one whose choice is known, but not what it makes of the
// weights, moe.gate takes the choice: it gives the ids and their scores, and the rest stays plain, k numbers per token.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Patterns.h"
#include "Router.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::aten;

/// Ids that a caller gives are checked by the executable.
static void boundIds(Value ids, int64_t experts, OpBuilder &builder) {
  while (CallOp view = getDefiningCall(ids, {"aten.view", "aten.reshape"}))
    ids = view.getValue("self");
  auto argument = dyn_cast<BlockArgument>(ids);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (function && !function.getArgAttr(argument.getArgNumber(), "moe.range"))
    function.setArgAttr(argument.getArgNumber(), "moe.range", builder.getI64ArrayAttr({-1, experts - 1}));
}

static moe::GateOp createGate(PatternRewriter &rewriter, Location loc, const Router &router, RankedTensorType weights) {
  MLIRContext *context = rewriter.getContext();
  auto number = [&](std::optional<double> value) { return value ? rewriter.getF64FloatAttr(*value) : FloatAttr(); };
  Value logits = router.logits;
  if (CallOp part = router.part) { // the same part of the logits as the scores are of all scores
    IRMapping logitsForScores;
    logitsForScores.map(part.getValue("self"), logits);
    auto slice = cast<CallOp>(rewriter.clone(*part, logitsForScores));
    slice.getResult(0).setType(getLogitsType(router));
    logits = slice.getResult(0);
  }
  auto gate = moe::GateOp::create(
      rewriter, loc, weights, weights.clone(rewriter.getI32Type()), logits, router.bias, router.ids,
      rewriter.getI64IntegerAttr(router.topK), moe::ScoreAttr::get(context, router.score), number(router.jitter),
      moe::RenormalizeAttr::get(context, router.renormalize), number(router.eps), number(router.least),
      number(router.p), number(router.scale), router.groups, /*capacity=*/moe::CapacityAttr());
  remark::passed(loc, remark::RemarkOpts::name("Router").category("moe-import"))
      << remark::metric("top_k", router.topK);
  return gate;
}

/// The choice that ids come from; some may be changed afterwards, and each be a row of its own.
static CallOp findTopK(Value ids) {
  ids = skipIdCasts(ids);
  while (CallOp call = getDefiningCall(ids, {"aten.masked_fill", "aten.view", "aten.reshape"}))
    ids = skipIdCasts(call.getValue("self"));
  CallOp topk = getDefiningCall(ids, {"aten.topk"});
  return topk && ids == topk.getResult(1) ? topk : CallOp();
}

/// Puts a gate before `topk`, which gives its ids and the scores of these.
static void raiseChoice(PatternRewriter &rewriter, CallOp topk, Value &ids, Value &weights) {
  Value scores, sigmoid;
  std::optional<Router> router = matchScoredChoice(topk, scores);
  if (!router)
    router = matchLogitChoice(topk, sigmoid);
  if (!router)
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(topk);
  Location loc = topk.getLoc();
  auto type = cast<RankedTensorType>((sigmoid ? sigmoid : topk.getResult(0)).getType());
  moe::GateOp gate = createGate(rewriter, loc, *router, type);
  Value wide = createCall(rewriter, loc, "aten.to.dtype", topk.getResult(1).getType(),
                          {{"self", gate.getExperts()}, {"dtype", Attribute(TypeAttr::get(rewriter.getI64Type()))}});
  auto replace = [&](Value before, Value after) {
    rewriter.replaceAllUsesWith(before, after);
    ids = ids == before ? after : ids;
    weights = weights == before ? after : weights;
  };
  for (Operation *user : scores ? llvm::to_vector(scores.getUsers()) : SmallVector<Operation *>()) {
    auto gather = dyn_cast<CallOp>(user);
    if (gather && gather.getBase() == "aten.gather" && gather.getValue("self") == scores &&
        gather.getDim("dim", 2) == 1 && skipIdCasts(gather.getValue("index")) == topk.getResult(1))
      replace(gather.getResult(0), gate.getWeights());
  }
  // The values of experts that compete are their scores, with the bias.
  if (sigmoid)
    replace(sigmoid, gate.getWeights());
  else if (!router->bias)
    replace(topk.getResult(0), gate.getWeights());
  else if (!topk.getResult(0).use_empty())
    replace(topk.getResult(0), createCall(rewriter, loc, "aten.gather.default", type,
                                          {{"self", topk.getValue("self")},
                                           {"dim", Attribute(rewriter.getI64IntegerAttr(1))},
                                           {"index", wide}}));
  replace(topk.getResult(1), wide);
  // The dispatch reads i32 as well.
  ids = skipIdCasts(ids);
}

void mlir::aten::raiseRouter(PatternRewriter &rewriter, Location loc, Value &ids, Value &weights, int64_t experts) {
  std::optional<Router> router = matchRouter(ids, weights, experts, /*why=*/nullptr);
  if (!router) {
    if (CallOp topk = findTopK(ids))
      raiseChoice(rewriter, topk, ids, weights);
    return;
  }
  if (router->ids)
    boundIds(router->ids, experts, rewriter);
  moe::GateOp gate = createGate(rewriter, loc, *router, getTensorType(weights));
  // What the model does with pairs of experts that compute nothing follows the layer; it takes the gate's choice as well.
  if (getLogitsType(*router).getDimSize(1) > experts) {
    auto isLater = [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return user->getBlock() == gate->getBlock() && gate->isBeforeInBlock(user);
    };
    Value wide = createCall(rewriter, loc, "aten.to.dtype", ids.getType(),
                            {{"self", gate.getExperts()}, {"dtype", Attribute(TypeAttr::get(rewriter.getI64Type()))}});
    rewriter.replaceUsesWithIf(ids, wide, isLater);
    rewriter.replaceUsesWithIf(weights, gate.getWeights(), isLater);
  }
  weights = gate.getWeights();
  ids = gate.getExperts();
}
