//===- IndexRange.h - between which numbers the elements of an index tensor lie -------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_INDEXRANGE_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_INDEXRANGE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace mlir::aten {

/// All integers from `lo` to `hi`, both included.
struct IndexRange {
  int64_t lo, hi;
  bool isWithin(const IndexRange &other) const { return lo >= other.lo && hi <= other.hi; }
};

/// What is known of the elements of an integer tensor: from `arange`, `topk`, `remainder`, constants and their like,
/// and from the `moe.range` of arguments. Nothing if they can be anything.
std::optional<IndexRange> getIndexRange(Value tensor);

/// The argument of the function whose elements are exactly those of `tensor`, in some order; null if there is none.
BlockArgument getIndexArgument(Value tensor);

/// The `moe.range` of an argument.
std::optional<IndexRange> getArgumentRange(BlockArgument argument);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_INDEXRANGE_H
