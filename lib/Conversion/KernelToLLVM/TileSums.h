//===- TileSums.h - sums of a tile that wait in memory ------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_TILESUMS_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_TILESUMS_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace mlir::kernel {

/// Sums of a tile in memory: its first row is row `row` of `memory`, [rows, columns] of f32.
struct TileSums {
  Value memory, row;

  /// The sums that `load` reads, if they are whole rows of memory that follow each other, and are the same when those
  /// who read them come (an epilogue, or a loop that starts with them).
  static std::optional<TileSums> of(LoadTileOp load);
};

/// For each result of `loop`, the epilogue that only puts it into memory, if it can be there as soon as the loop ends;
/// else null. `placeOf` tells where.
SmallVector<StoreTileOp> findWaitingStores(scf::ForOp loop);
TileSums placeOf(StoreTileOp waiting);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_TILESUMS_H
