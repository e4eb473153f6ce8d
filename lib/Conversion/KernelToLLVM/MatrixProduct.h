//===- MatrixProduct.h - a loop over K that matrix registers can run ----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_MATRIXPRODUCT_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_MATRIXPRODUCT_H

#include "AmxBuilder.h"
#include "FollowingWeights.h"
#include "TileSums.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace mlir::kernel {

/// Products of one tile of rows with one or several tiles of columns, all over the same K:
///
///   %gate, %up = scf.for %k = .. to .. step 2 iter_args(%g = zero, %u = zero) {
///     kernel.mma %g, %a[%rows, %k], %w[.., %k, %column0]
///     kernel.mma %u, %a[%rows, %k], %w[.., %k, %column1]
///   }
struct MatrixProduct {
  scf::ForOp loop;
  SmallVector<MmaOp> mmas; ///< by result of the loop
  RowIndicesOp rows;
  SmallVector<std::optional<TileSums>> starts; ///< what each sum starts with, if not with zero

  /// The product that `loop` computes, if its form is the one above: pairs of bf16, whole registers of columns, sums
  /// that start with zero or with what waits in memory, and that only epilogues read.
  static std::optional<MatrixProduct> match(scf::ForOp loop);
};

/// What a thread computes next: while a tile of rows is multiplied with weights, it can fetch a share of those that
/// follow, in the same column block or in the next. All values stand before the product's loop.
struct NextWeights {
  FollowingWeights place;
  Value turn, turns; ///< number of the tile among those that pass these weights, and how many there are
};

/// Emits `product` for the first `count` (1 to 32) rows of its tile at the builder's position. Returns the sums of each
/// mma. An epilogue that only puts them into memory is erased, and they are there.
SmallVector<TileSums> emitMatrixProduct(OpBuilder &b, AmxBuilder &amx, MatrixProduct product, Value count,
                                        std::optional<NextWeights> next);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_MATRIXPRODUCT_H
