//===- PlainLayers.h - what was not raised, and why ---------------------------------------------------*- C++ -*-===//
//
// Runs when the patterns are done, on what they left. An *anchor* shows that a layer of a kind is there although no
// pattern took it: a grouped product, a topk of a router's logits, a softmax between two products, the inverse root of
// a mean of squares. The matchers of the patterns then say which step did not fit.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_PLAINLAYERS_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_PLAINLAYERS_H

#include "Mismatch.h"
#include "Patterns.h"

#include "moe-mlir/Dialect/Moe/IR/PlainLayers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::aten {

/// A layer that stayed plain.
struct PlainAnchor {
  moe::LayerKind kind;
  Operation *op;
  Mismatch why;
};

// Why a call that a pattern takes was not taken; each lives in the file of the pattern.
void explainExpertsCall(CallOp call, Mismatch &why);
void explainAttentionCall(CallOp call, Mismatch &why);
/// Whether it is attention as one call: that of PyTorch, or the one with sinks.
bool isAttentionCall(CallOp call);
void explainNormCall(CallOp call, Mismatch &why);
/// Of aten.rsqrt(mean(x^2) + eps), whose norm is spelled out.
void explainInverseRoot(CallOp root, Mismatch &why);

// Each lives in the file of that name.
void findPlainExperts(func::FuncOp function, SmallVectorImpl<PlainAnchor> &found);
void findPlainAttention(func::FuncOp function, SmallVectorImpl<PlainAnchor> &found);
void findPlainNorms(func::FuncOp function, SmallVectorImpl<PlainAnchor> &found);

/// Finds all kinds, states them in the function's `moe.plain`, and emits a remark for each.
void recordPlainLayers(func::FuncOp function);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_PLAINLAYERS_H
