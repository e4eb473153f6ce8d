//===- ExchangeChain.cpp - the ops that an exchange of tokens begins and ends -------------------------------------===//

#include "moe-mlir/Schedule/ExchangeChain.h"

#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kernel;

/// Whether it adds what came back, so that its rows are those of the tokens again.
static bool isOfTokens(moe::CombineOp op, moe::DispatchOp to) {
  Value layout = op.getLayout();
  auto back = layout.getDefiningOp<moe::AllToAllOp>();
  return layout == to.getLayout() || (back && back.getInverse());
}

std::optional<ExchangeChain> ExchangeChain::around(moe::AllToAllOp there, std::string &why) {
  ExchangeChain chain;
  chain.there = there;
  chain.to = there.getDispatch();
  auto no = [&](const Twine &text) {
    why = text.str();
    return std::nullopt;
  };
  if (there.getInverse() || !chain.to)
    return no("brings no rows of a moe.dispatch 'to' ranks");
  if (chain.to.getAt())
    return no("takes tokens from a node to its ranks, which passes of all ranks cannot");
  llvm::SetVector<Operation *> ops;
  ops.insert(chain.to);
  for (unsigned i = 0; i < ops.size(); ++i) {
    auto sum = dyn_cast<moe::CombineOp>(ops[i]);
    if (sum && isOfTokens(sum, chain.to)) {
      if (sum.getWeights())
        return no("is the exchange of a sum with weights, which stand by token of all passes");
      if (chain.sum)
        return no("is the exchange of several sums of tokens, which passes cannot have");
      chain.sum = sum;
      continue;
    }
    for (Operation *user : ops[i]->getUsers()) {
      auto exchange = dyn_cast<moe::AllToAllOp>(user);
      const bool isOther = exchange && exchange.getDispatch() != chain.to;
      if (isOther || !isa<moe::AllToAllOp, moe::DispatchOp, moe::ExpertOp, moe::CombineOp>(user))
        return no("brings rows of which " + user->getName().getStringRef() +
                  " reads all, which passes do not have at one time");
      ops.insert(user);
    }
  }
  if (!chain.sum)
    return no("has no moe.combine of what returns, with which passes end");
  chain.ops = ops.takeVector();
  return chain;
}

moe::AllToAllOp mlir::kernel::exchangeAcross(Operation *op) {
  auto there = dyn_cast<moe::AllToAllOp>(op);
  std::string why;
  std::optional<ExchangeChain> chain = there ? ExchangeChain::around(there, why) : std::nullopt;
  Operation *place = chain ? chain->sum.getOperation() : op;
  auto isBehind = [&](Operation *back) {
    return back->getBlock() == place->getBlock() && place->isBeforeInBlock(back);
  };
  for (auto other : op->getBlock()->getOps<moe::AllToAllOp>()) {
    if (other == op || other.getInverse() || passTokensOf(other) || other.getGridAttr() != op->getAttr("grid") ||
        !other->isBeforeInBlock(place))
      continue;
    if (llvm::any_of(other.getResultLayout().getUsers(), isBehind))
      return other;
  }
  return {};
}

std::string mlir::kernel::whyNotInPasses(Operation *op) {
  if (!passTokensOf(op))
    return "";
  auto there = dyn_cast<moe::AllToAllOp>(op);
  std::string why;
  if (there && !ExchangeChain::around(there, why))
    return why + "; remove 'kernel.pass_tokens'";
  if (!exchangeAcross(op))
    return "";
  return "has passes between the way there and the way back of another exchange on its grid, which has none; give both "
         "'kernel.pass_tokens'";
}

/// Bytes of a row; nothing if they are no constant.
static std::optional<int64_t> rowBytes(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || type.getRank() < 1)
    return std::nullopt;
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (int64_t size : type.getShape().drop_front()) {
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    bytes *= size;
  }
  return bytes;
}

std::optional<int64_t> mlir::kernel::windowBytesPerToken(Operation *op) {
  int64_t bytes = 0;
  auto add = [&](Value tensor) {
    std::optional<int64_t> more = rowBytes(tensor);
    bytes += more.value_or(0);
    return more.has_value();
  };
  if (isa<shard::AllReduceOp, shard::AllGatherOp>(op)) {
    // Rows are those of a matrix of the last dimension; two halves take turns.
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    if (type.isDynamicDim(type.getRank() - 1))
      return std::nullopt;
    bytes = type.getShape().back() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
    return 2 * bytes * moe::ranksOf(op, op->getAttrOfType<FlatSymbolRefAttr>("grid"));
  }
  auto there = dyn_cast<moe::AllToAllOp>(op);
  std::string why;
  std::optional<ExchangeChain> chain = there ? ExchangeChain::around(there, why) : std::nullopt;
  if (!chain || !add(chain->to.getTokens()) || !llvm::all_of(there.getCompanions(), add))
    return std::nullopt;
  for (Operation *back : chain->ops)
    if (auto exchange = dyn_cast<moe::AllToAllOp>(back); exchange && exchange.getInverse() && !add(exchange.getRows()))
      return std::nullopt;
  return bytes * moe::ranksOf(op, there.getGridAttr());
}
