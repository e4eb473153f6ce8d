//===- AttentionOperands.cpp - what both programs of nn.attention share -------------------------------------------===//

#include "AttentionOperands.h"

using namespace mlir;
using namespace mlir::kernel;

SmallVector<Value> mlir::kernel::sharedIndices(KernelBuilder &k, Value tensor, Value batch, Value head) {
  auto type = cast<MemRefType>(tensor.getType());
  auto clamp = [&](Value index, int64_t dim) -> Value {
    if (type.getDimSize(dim) == 1)
      return k.idx(0);
    return type.isDynamicDim(dim) ? k.min(index, k.sub(k.dim(tensor, dim), k.idx(1))) : index;
  };
  Value first = clamp(batch, 0);
  return {first, clamp(head, 1)};
}

std::string mlir::kernel::attentionName(StringRef form, nn::AttentionOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  const int64_t heads = query.getDimSize(2), depth = query.getDimSize(3);
  const int64_t group = heads / cast<RankedTensorType>(op.getKey().getType()).getDimSize(1);
  const int64_t width = cast<RankedTensorType>(op.getValue().getType()).getDimSize(3);
  return (form + "_" + Twine(heads) + "x" + Twine(depth)).str() + (width == depth ? "" : "x" + std::to_string(width)) +
         (op.getSinks() ? "_sinks" : "") + (op.getBias() ? "_bias" : "") + "_group" + std::to_string(group) + "_" +
         typeName(query.getElementType());
}
