//===- Passes.h - passes over the nn dialect ------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_NN_TRANSFORMS_PASSES_H
#define MOE_MLIR_DIALECT_NN_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class RewritePatternSet;

namespace nn {

#define GEN_PASS_DECL
#include "moe-mlir/Dialect/Nn/Transforms/Passes.h.inc"

/// nn.embedding, nn.linear, nn.batch_linear, nn.rms_norm, nn.silu -> linalg on the rows.
void populateDecomposeRowsPatterns(RewritePatternSet &patterns);
/// nn.rope, nn.cache_update, nn.attention -> linalg on the heads.
void populateDecomposeAttentionPatterns(RewritePatternSet &patterns);
/// nn.causal_conv, nn.scan -> linalg on the steps.
void populateDecomposeRecurrentPatterns(RewritePatternSet &patterns);
/// nn.top_k -> linalg that compares each element with each.
void populateDecomposeTopKPatterns(RewritePatternSet &patterns);

#define GEN_PASS_REGISTRATION
#include "moe-mlir/Dialect/Nn/Transforms/Passes.h.inc"

} // namespace nn
} // namespace mlir

#endif // MOE_MLIR_DIALECT_NN_TRANSFORMS_PASSES_H
