//===- RowReader.h - runs of a view's elements along its last dimension ---------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_WEIGHTS_ROWREADER_H
#define MOE_MLIR_LIB_WEIGHTS_ROWREADER_H

#include "moe-mlir/Weights/Recipe.h"

namespace moe_mlir {

/// Reads runs of elements of a view along its last dimension, after the casts. Neighbouring runs mostly lie in the same
/// box, so the last box is tried first.
class RowReader {
public:
  explicit RowReader(const View &view);

  /// Writes the elements [first, first + count) of the row with the given leading indices to `out`. A view of rank 0 is
  /// a row of one element.
  void read(llvm::ArrayRef<int64_t> leading, int64_t first, int64_t count, char *out);

private:
  void readRaw(llvm::ArrayRef<int64_t> leading, int64_t first, int64_t count, char *out);
  const View::Box &boxAt(llvm::ArrayRef<int64_t> leading, int64_t position);

  const View &view;
  size_t last = 0;
  llvm::SmallVector<char, 0> scratch[2]; ///< Between the steps of a chain of casts.
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_WEIGHTS_ROWREADER_H
