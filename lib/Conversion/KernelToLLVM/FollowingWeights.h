//===- FollowingWeights.h - what a thread reads after the weights of a product ------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_FOLLOWINGWEIGHTS_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_FOLLOWINGWEIGHTS_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::kernel {

/// The loop over row tiles around `tile`, if the column blocks of `mma`'s weights follow each other in what a thread
/// computes (kernel.columns_inside) and have known sizes; else null.
scf::ForOp findRowsOfColumnBlocks(RowTileOp tile, MmaOp mma);

/// Where weights stand: a column block, and a step of K in it.
struct FollowingWeights {
  Value block, step;

  /// What follows the part of K that `loop` takes of the weights of `mma`: the rest of K, or the start of the next
  /// column block. Behind the last column block there is none: the same one again. `findRowsOfColumnBlocks` holds.
  static FollowingWeights emit(OpBuilder &b, scf::ForOp loop, MmaOp mma);
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_FOLLOWINGWEIGHTS_H
