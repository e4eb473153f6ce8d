//===- OverlapChain.cpp - the ops whose exchanges can run under products ------------------------------------------===//

#include "moe-mlir/Dialect/Moe/IR/OverlapChain.h"

using namespace mlir;
using namespace mlir::moe;

std::optional<OverlapChain> OverlapChain::around(ExpertOp expert, std::string &why) {
  auto no = [&](StringRef text) {
    why = text;
    return std::nullopt;
  };
  OverlapChain chain;
  chain.expert = expert;
  chain.here = expert.getRows().getDefiningOp<DispatchOp>();
  if (!chain.here || !chain.here.getAt() || !chain.here.getRows().hasOneUse())
    return no("reads no rows of a moe.dispatch 'at' this rank, or not alone");
  chain.there = chain.here.getTokens().getDefiningOp<AllToAllOp>();
  if (!chain.there || chain.there.getInverse() || !chain.here.getTokens().hasOneUse())
    return no("reads no rows that a moe.all_to_all brings, or not alone");
  if (chain.here.getWeights())
    return no("reads rows that are weighted before");
  Operation *reader = expert.getResult().hasOneUse() ? *expert.getResult().user_begin() : nullptr;
  chain.sum = dyn_cast_if_present<CombineOp>(reader);
  if (!chain.sum || chain.sum.getRows() != expert.getResult() || chain.sum.getLayout() != chain.here.getLayout())
    return no("has no moe.combine that alone reads its rows");
  if (chain.sum.getWeights() && chain.sum.getWeights().getDefiningOp() != chain.there)
    return no("has sums with weights that its exchange did not bring");
  Operation *sender = chain.sum.getResult().hasOneUse() ? *chain.sum.getResult().user_begin() : nullptr;
  chain.back = dyn_cast_if_present<AllToAllOp>(sender);
  if (!chain.back || !chain.back.getInverse() || chain.back.getLayout() != chain.there.getResultLayout())
    return no("has sums that do not go back by a moe.all_to_all 'return' alone");
  return chain;
}

std::optional<OverlapChain> mlir::moe::overlapOf(ExpertOp expert) {
  std::string why;
  ScheduleAttr schedule = expert.getScheduleAttr();
  return schedule && schedule.overlaps() ? OverlapChain::around(expert, why) : std::nullopt;
}

std::optional<OverlapChain> mlir::moe::overlapOf(AllToAllOp there) {
  if (there.getInverse() || !there.getResult().hasOneUse())
    return std::nullopt;
  auto here = dyn_cast<DispatchOp>(*there.getResult().user_begin());
  auto expert = here && here.getRows().hasOneUse() ? dyn_cast<ExpertOp>(*here.getRows().user_begin()) : ExpertOp();
  std::optional<OverlapChain> chain = expert ? overlapOf(expert) : std::nullopt;
  return chain && chain->there == there ? chain : std::nullopt;
}
