//===- SlotSums.h - the weighted sum of a token's rows --------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_SLOTSUMS_H
#define MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_SLOTSUMS_H

#include "Exchange.h"

namespace mlir::kernel {

/// In a kernel: what a moe.combine computes, for one token after the other. f32, in one order: the result does not
/// depend on how work was split. A tree adds the slots of each range of groups, and then the ranges; rows stand by
/// group, so a slot's range shows in its row.
class SlotSums {
public:
  /// `rows` and `weights` (null without any) are buffers of the host.
  SlotSums(KernelBuilder &b, moe::CombineOp op, const LayoutBuffers &layout, Value rows, Value weights);

  /// `store(sum, column)` for the columns [first, end) of `token`.
  void forColumns(Value token, Value first, Value end, llvm::function_ref<void(Value, Value)> store);

  Value tokens() { return b.dim(places, 0); }
  /// "_top2_tree4", for the kernel's name.
  std::string name() const;

private:
  /// Rows [begin, end) of groups that are added by themselves; without bounds all rows.
  struct Range {
    Value begin, end;
  };
  struct Slot {
    Value row, weight;
    SmallVector<Value> counts; ///< by range: whether the slot has a row in it
  };

  Slot slot(Value token, Value j);
  Value isInside(Value row, const Range &range);
  SmallVector<Value> zeros();
  SmallVector<Value> accumulate(ValueRange sums, const Slot &slot, Value column);

  KernelBuilder &b;
  Value rows, places, weights;
  SmallVector<Range> ranges;
  int64_t choices; ///< slots of a token, if the program knows them
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_GRAPHTOKERNEL_SLOTSUMS_H
