//===- AttentionOperands.h - what both programs of nn.attention share -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_ATTENTIONOPERANDS_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_ATTENTIONOPERANDS_H

#include "Lowering.h"

namespace mlir::kernel {

/// The first two indices into `tensor`, a mask or a bias [B or 1, N or 1, S, L]: a size of one serves all.
SmallVector<Value> sharedIndices(KernelBuilder &k, Value tensor, Value batch, Value head);

/// Name of the kernel: `form`, then heads, head size and what the op has beside keys and values.
std::string attentionName(StringRef form, nn::AttentionOp op);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_ATTENTIONOPERANDS_H
