//===- CutExchanges.cpp - graph-cut-exchanges ---------------------------------------------------------------------===//
//
// 1. For each function, find its exchanges and what each token takes of their windows. Equal exchanges use the same
//    windows one after the other.
// 2. So many tokens of a rank fit into the limit. Exchanges of more, or of nobody knows how many, get that number.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"
#include "moe-mlir/Schedule/ExchangeChain.h"
#include "moe-mlir/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

#include <limits>

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_GRAPHCUTEXCHANGES
#include "moe-mlir/Schedule/Passes.h.inc"
} // namespace mlir::kernel

/// Of a rank, if nobody says another limit: programs of known sizes below it stay as they are.
static constexpr int64_t kMostBytes = int64_t(1) << 30;
/// Passes of at least so many tokens have a multiple of it, so that tiles and chunks are whole.
static constexpr int64_t kWholeTokens = 64;

/// Equal for exchanges whose windows are the same memory.
static Attribute identityOf(Operation *op) {
  Builder b(op->getContext());
  SmallVector<Attribute> parts;
  auto add = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.front() = ShapedType::kDynamic;
    parts.push_back(TypeAttr::get(RankedTensorType::get(shape, type.getElementType())));
  };
  if (!isa<moe::AllToAllOp>(op)) {
    parts.append({op->getName().getIdentifier(), op->getAttr("grid")});
    add(op->getOperand(0));
    return b.getArrayAttr(parts);
  }
  auto there = cast<moe::AllToAllOp>(op);
  parts.push_back(there.getGridAttr());
  std::string why;
  const std::optional<kernel::ExchangeChain> chain = kernel::ExchangeChain::around(there, why);
  for (Operation *each : chain->ops)
    if (auto exchange = dyn_cast<moe::AllToAllOp>(each)) {
      add(exchange.getRows());
      llvm::for_each(exchange.getCompanions(), add);
    }
  return b.getArrayAttr(parts);
}

/// Tokens of a rank, or rows of a sum; dynamic if only a run knows them.
static int64_t tokensOf(Operation *op) {
  Value tokens = op->getOperand(0);
  if (auto there = dyn_cast<moe::AllToAllOp>(op))
    tokens = there.getDispatch().getTokens();
  int64_t count = 1;
  for (int64_t size : cast<ShapedType>(tokens.getType()).getShape().drop_back()) {
    if (ShapedType::isDynamic(size))
      return size;
    count *= size;
  }
  return count;
}

namespace {
struct GraphCutExchanges : kernel::impl::GraphCutExchangesBase<GraphCutExchanges> {
  using GraphCutExchangesBase::GraphCutExchangesBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      cut(function);
  }

private:
  void cut(func::FuncOp function) {
    llvm::SmallMapVector<Operation *, int64_t, 8> exchanges; // bytes for a token
    llvm::SmallMapVector<Attribute, int64_t, 4> kinds;
    function.walk([&](Operation *op) {
      if (!isa<moe::AllToAllOp, shard::AllReduceOp, shard::AllGatherOp>(op))
        return;
      if (std::optional<int64_t> bytes = kernel::windowBytesPerToken(op)) {
        exchanges[op] = *bytes;
        kinds[identityOf(op)] = *bytes;
      }
    });
    int64_t all = 0; // for a token of each
    for (auto &[kind, bytes] : kinds)
      all += bytes;
    if (!all)
      return;
    const int64_t limit = windows ? windows : kMostBytes;
    if (all > limit)
      function.emitWarning() << "windows take " << all << " bytes for one token of each rank, more than the limit of "
                             << limit << "; exchanges are cut into passes of one token, which are slow";
    int64_t most = std::clamp<int64_t>(limit / all, 1, std::numeric_limits<int32_t>::max());
    if (most >= kWholeTokens)
      most = most / kWholeTokens * kWholeTokens;
    for (auto &[op, bytes] : exchanges) {
      const int64_t tokens = tokensOf(op);
      const bool isKnown = !ShapedType::isDynamic(tokens);
      if (!kernel::passTokensOf(op) && (isKnown ? tokens > most : windows != 0))
        setPasses(op, bytes, most, limit);
    }
    // One that is under way where others are repeated is repeated, too.
    for (bool isNew = true; std::exchange(isNew, false);)
      for (auto &[op, bytes] : exchanges)
        if (moe::AllToAllOp across = kernel::passTokensOf(op) ? kernel::exchangeAcross(op) : moe::AllToAllOp();
            across && exchanges.contains(across)) {
          setPasses(across, exchanges[across], most, limit);
          isNew = true;
        }
  }

  void setPasses(Operation *op, int64_t bytes, int64_t most, int64_t limit) {
    op->setAttr(kernel::passTokensAttrName, IntegerAttr::get(IntegerType::get(&getContext(), 64), most));
    const int64_t tokens = tokensOf(op);
    auto options = remark::RemarkOpts::name("Passes").category("graph-cut-exchanges");
    remark::analysis(op->getLoc(), options.function(op->getParentOfType<func::FuncOp>().getName()))
        << (ShapedType::isDynamic(tokens) ? "" : std::to_string(llvm::divideCeil(tokens, most)) + " ") +
               "passes of at most " + std::to_string(most) + " tokens of each rank: windows of " +
               std::to_string(bytes * most) + " bytes, of " + std::to_string(limit) + " for all";
  }
};
} // namespace
