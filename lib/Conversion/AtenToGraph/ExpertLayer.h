//===- ExpertLayer.h - a MoE layer that a pattern has recognised --------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_EXPERTLAYER_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_EXPERTLAYER_H

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::aten {

/// The operands of a MoE layer as the graph has them, however it spells the layer.
struct ExpertLayer {
  /// [T, H]
  Value tokens;
  /// [T, k]
  Value ids, weights;
  /// [E, I or 2I, H] and [E, O, I], or [E, in, out] where transposed.
  Value wIn, wOut;
  bool inTransposed = false, outTransposed = false;
  /// [E, I or 2I] and [E, O]; null if absent.
  Value bIn = Value(), bOut = Value();
  bool gated = false, interleaved = false;
};

/// Builds gate (if the router is known), dispatch, expert and combine; `activation` becomes the expert's region.
/// Returns the result of type `result`, [T, O].
Value createExpertLayer(PatternRewriter &rewriter, Location loc, ExpertLayer layer, Region &activation, Type result);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_EXPERTLAYER_H
