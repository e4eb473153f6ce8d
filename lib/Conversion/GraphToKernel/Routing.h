//===- Routing.h - pairs of (token, slot), counted and placed by chunks of tokens -----------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_ROUTING_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_ROUTING_H

#include "Lowering.h"

namespace mlir::kernel {

/// What the first kernel of a routing leaves to the second.
struct PairCounts {
  Value ranks;  ///< [T, k] i32: how many pairs of its chunk stand before the pair at its expert
  Value counts; ///< [chunks at most, experts] i32: the pairs of each chunk by expert
};

/// Chunks of consecutive tokens: how many tokens are in each but the last, and how many chunks there are. They follow
/// from the number of tokens and the target; no result depends on them.
class TokenChunks {
public:
  TokenChunks(KernelBuilder &b, const RoutingSizes &sizes, Value tokens);

  Value count() { return chunks; }
  Value first(KernelBuilder &b, Value chunk) { return b.mul(chunk, size); }
  Value end(KernelBuilder &b, Value first) { return b.min(tokens, b.add(first, size)); }

private:
  Value tokens, size, chunks;
};

/// Buffers on the host for `tokens` x `k` pairs.
PairCounts allocateCounts(OpBuilder &host, Location loc, const RoutingSizes &sizes, OpFoldResult tokens, OpFoldResult k,
                          int64_t experts);

/// Whether `id` is the number of an expert; anything else means that the pair is dropped.
Value isExpert(KernelBuilder &b, Value id, int64_t experts);

/// Counts the pairs of the tokens [first, end) of `chunk` in the kernel: `ids` [T, k], `own` are arguments of it.
void emitCounts(KernelBuilder &b, Value ids, PairCounts own, int64_t experts, Value chunk, Value first, Value end);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_ROUTING_H
