//===- ExchangeChain.h - the ops that an exchange of tokens begins and ends -----------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SCHEDULE_EXCHANGECHAIN_H
#define MOE_MLIR_SCHEDULE_EXCHANGECHAIN_H

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

namespace mlir::kernel {

/// From tokens to tokens again: dispatch to ranks, exchange, experts there, way back, and the sum over ranks. Tokens do
/// not see each other in between, so the ops can be done for some of them at a time.
struct ExchangeChain {
  moe::DispatchOp to;
  moe::AllToAllOp there;
  moe::CombineOp sum;
  SmallVector<Operation *> ops; ///< all of them

  /// None if something else reads what is on its way; `why` follows the words "op 'moe.all_to_all'".
  static std::optional<ExchangeChain> around(moe::AllToAllOp there, std::string &why);
};

/// An exchange in one piece, on the grid of `op`, that is under way where the passes of `op` would stand; null if none
/// is. Its way back would take flags of theirs for its own.
moe::AllToAllOp exchangeAcross(Operation *op);

/// Why the passes that `op` says (kernel.pass_tokens) cannot be carried out; empty if they can, or if it says none.
std::string whyNotInPasses(Operation *op);

/// The bytes of windows that `op` takes for each token of a pass; nothing if that is no constant, or `op` takes none.
std::optional<int64_t> windowBytesPerToken(Operation *op);

} // namespace mlir::kernel

#endif // MOE_MLIR_SCHEDULE_EXCHANGECHAIN_H
