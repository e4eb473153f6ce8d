//===- Layout.h - where each pair goes ------------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_LAYOUT_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_LAYOUT_H

#include "Routing.h"

namespace mlir::kernel {

/// A converted !moe.layout of E experts and T x k pairs, all i32. Nothing else knows the order of its buffers.
struct LayoutBuffers {
  LayoutBuffers() = default;
  /// Of the values that a layout has become.
  explicit LayoutBuffers(ValueRange values)
      : offsets(values[0]), tokens(values[1]), places(values[2]), records(values[3]), count(values[4]) {}

  /// Those values, and their types.
  SmallVector<Value> values() const { return {offsets, tokens, places, records, count}; }
  static SmallVector<Type> types(moe::LayoutType layout);
  /// New ones for tokens and choices of these numbers.
  static LayoutBuffers allocate(OpBuilder &host, Location loc, moe::LayoutType layout, OpFoldResult tokens,
                                OpFoldResult choices);

  Value offsets; ///< [E + 1]: first row of each expert, and the number of rows
  Value tokens;  ///< [T * k]: token of each row
  Value places;  ///< [T, k]: row of each pair, -1 without an expert
  Value records; ///< [E, 5]: expert, first row, rows, 0, 0 of each expert with rows
  Value count;   ///< [1]: number of records
};

/// Launches the layout of `experts` [T, k]; `counts` as its gate left them, or a kernel counts first. The launch has
/// the offsets as its operand 1.
LaunchOp emitLayout(GraphLowering &lowering, OpBuilder &host, Location loc, Value experts, const LayoutBuffers &layout,
                    std::optional<PairCounts> counts, int64_t numExperts);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_LAYOUT_H
