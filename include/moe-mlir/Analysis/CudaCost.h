//===- CudaCost.h - how long a product takes on a GPU ---------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_ANALYSIS_CUDACOST_H
#define MOE_MLIR_ANALYSIS_CUDACOST_H

#include "moe-mlir/Analysis/CudaDevices.h"

namespace moe_mlir {

/// rows x depth times columns x depth, by one weight of `groups`; rows are spread evenly. Elements have 2 bytes, or, in
/// f32, 4.
struct CudaProduct {
  int64_t groups, columns, depth, rows, elementBytes = 2;
};

/// In seconds.
struct CudaEstimate {
  double seconds; ///< with the kernel's tiles
  double floor;   ///< operations or bytes at the device's peak, whichever takes longer
};

/// For tiles of 128 rows (or a few) x `blockColumns` columns.
CudaEstimate estimateProduct(const CudaDevice &device, const CudaProduct &product, int64_t blockColumns);

/// A row program: bytes of device memory, operations on f32, and how many blocks have work.
struct CudaRows {
  int64_t bytes, flops, blocks;
};

/// As if each multiprocessor with work were always busy with what takes longest: memory, or its operations.
CudaEstimate estimateRows(const CudaDevice &device, const CudaRows &rows);

/// Columns of a tile, `least` to `most` by doubling: those with the best sum of estimate / floor for many rows and for
/// few.
int64_t chooseColumns(const CudaDevice &device, const CudaProduct &weight, int64_t least, int64_t most);

/// Rows that a choice for a weight of `groups` assumes: those of 8192 tokens, or of 8. An expert weight gets 8 rows per
/// token.
constexpr int64_t nominalRows(int64_t groups, bool few) { return (few ? 8 : 8192) * (groups > 1 ? 8 : 1); }

} // namespace moe_mlir

#endif // MOE_MLIR_ANALYSIS_CUDACOST_H
