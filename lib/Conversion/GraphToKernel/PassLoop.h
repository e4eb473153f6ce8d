//===- PassLoop.h - launches that are repeated for parts of the tokens ----------------------------------*- C++ -*-===//
//
// An exchange with kernel.pass_tokens = N becomes a loop of the host function. Its launches are those of any exchange,
// of min(room, N) tokens, but for those that begin and end it: they count tokens from the first one of the pass. All
// ranks have agreed on `room`, so they go through as many passes, and a rank without tokens left has empty ones.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_PASSLOOP_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_PASSLOOP_H

#include "Lowering.h"

namespace mlir::kernel {

/// The loop, and what is known inside.
struct PassLoop {
  scf::ForOp loop;
  Value room;        ///< tokens of all passes
  OpFoldResult size; ///< tokens of a pass at most, the same on all ranks
  Value first;       ///< first token of the pass
};

/// What passes are opened and filled with: the ops of an exchange, which are converted one after the other.
struct TokenPasses {
  int64_t tokens; ///< of a pass
  moe::DispatchOp to;
  moe::AllToAllOp there;
  moe::CombineOp sum; ///< the last op; the loop stands in its place
  std::optional<PassLoop> loop;
};

/// A loop for `room` tokens, `tokens` at a time.
PassLoop openPasses(OpBuilder &host, Location loc, OpFoldResult room, int64_t tokens);

/// What an op of an exchange in passes becomes stands in their loop: sets the insertion point there, and makes the loop
/// if `op` is the first one. Null, and nothing is done, if `op` is of no such exchange.
const PassLoop *enterPasses(GraphLowering &lowering, Operation *op, ConversionPatternRewriter &rewriter);

/// Moves what does not depend on the pass in front of the loops: buffers, windows, sizes, checks. What stays are launches.
void hoistFromPasses(func::FuncOp function);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_PASSLOOP_H
