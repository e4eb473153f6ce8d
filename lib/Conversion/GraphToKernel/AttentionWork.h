//===- AttentionWork.h - how many keys the queries of an attention see ---------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_ATTENTIONWORK_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_ATTENTIONWORK_H

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kernel {

/// Counts what the loops of an attention visit, on the host, for the `work` of its launches: positions, lengths, the
/// causal bound and the window are respected; a mask is not, as the loops do not skip what it hides. Closed forms per
/// batch row, so that a trace costs a few instructions. Without positions and lengths no loop over the batch is made.
class AttentionWork {
public:
  /// `positions` and `lengths` are the op's operands as buffers or null; sizes are those of the query and the cache.
  AttentionWork(OpBuilder &host, nn::AttentionOp op, Value positions, Value lengths, OpFoldResult batch,
                OpFoldResult queries, OpFoldResult cacheLength);

  /// Pairs of a query and a key that it sees, of one head, over the batch.
  OpFoldResult pairs();
  /// Keys up to the last one that some query sees, of one head, over the batch.
  OpFoldResult keys();

private:
  struct Row {
    Value position, length;
  };

  OpFoldResult sumOverBatch(llvm::function_ref<Value(const Row &)> count);
  Value load(Value buffer, Value row);
  Value seenUpTo(Value count, Value length);
  Value seenFrom(Value first, const Row &row);
  Value constant(int64_t value);
  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value min(Value a, Value b);
  Value max(Value a, Value b);

  ImplicitLocOpBuilder b;
  nn::AttentionOp op;
  Value positions, lengths, batch, queries, cacheLength;
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_ATTENTIONWORK_H
