//===- CudaCost.h - how long a kernel takes on a GPU ----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_ANALYSIS_CUDACOST_H
#define MOE_MLIR_ANALYSIS_CUDACOST_H

#include "moe-mlir/Analysis/CudaDevices.h"

#include "llvm/ADT/SmallVector.h"

namespace moe_mlir {

/// What a kernel does with the sums of a tile, per result.
struct CudaEpilogue {
  int64_t columns = 1;     ///< of the product that become one result: 2 for gate and up
  int64_t resultBytes = 2; ///< stored
  int64_t operations = 1;  ///< instructions of a thread, beside those that follow
  int64_t specials = 0;    ///< of the special function units: exponentials, reciprocals
};

/// rows x depth times columns x depth, by one weight of `groups`. Elements have 2 bytes, or, in f32, 4.
struct CudaProduct {
  int64_t groups, columns, depth, rows, elementBytes = 2;
  CudaEpilogue epilogue;
};

/// What a kernel with products decides beforehand, in its types and its plan.
struct CudaTile {
  int64_t rows, columns;
  /// A tile of at most so many rows is computed with swapped operands, and so many are multiplied whatever it has; 0:
  /// none is.
  int64_t fewRows;
  int64_t fewColumns = 128; ///< of a strip of such a tile, all products together
};

/// The largest tile of the compiler's kernels; narrower ones have fewer columns.
inline constexpr CudaTile largestTile{128, 256, 16};

/// One part of an estimate: what a resource takes by itself, on the multiprocessor that takes longest.
struct CudaTerm {
  llvm::StringLiteral name;
  double seconds;
};

/// In seconds.
struct CudaEstimate {
  double seconds = 0; ///< with the kernel's tiles
  double floor = 0;   ///< operations or bytes at the device's peak, whichever takes longer
  /// Of a product: `tensor cores` or `fma`, `shared memory` and `L2`, which overlap, then `epilogue` and `tile list`,
  /// which follow them; of a row program: `operations` and `L2`, which overlap. All of them overlap `memory`.
  llvm::SmallVector<CudaTerm, 6> terms;
};

/// `bytes` that the launch moves; none: those of the sizes.
CudaEstimate estimateProduct(const CudaDevice &device, const CudaProduct &product, const CudaTile &tile,
                             int64_t bytes = 0);

/// Tiles of `tileRows` rows that `groups` have on average, if `rows` are drawn evenly: the last one of each group is
/// ragged.
double expectedRowTiles(int64_t groups, int64_t rows, int64_t tileRows);

/// A row program: bytes of device memory, operations on f32, and how many blocks have work.
struct CudaRows {
  int64_t bytes, flops, blocks;
};

/// As if each multiprocessor with work were always busy with what takes longest: memory, or its operations.
CudaEstimate estimateRows(const CudaDevice &device, const CudaRows &rows);

/// Columns of a tile, `least` to those of `largest` by doubling: those with the best sum of estimate / floor for many
/// rows and for few.
int64_t chooseColumns(const CudaDevice &device, const CudaProduct &weight, int64_t least, CudaTile largest);

/// Rows that a choice for a weight of `groups` assumes: those of 8192 tokens, or of 8. An expert weight gets 8 rows per
/// token.
constexpr int64_t nominalRows(int64_t groups, bool few) { return (few ? 8 : 8192) * (groups > 1 ? 8 : 1); }

} // namespace moe_mlir

#endif // MOE_MLIR_ANALYSIS_CUDACOST_H
