//===- TiledProduct.h - a loop over row tiles with one product ----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_TILEDPRODUCT_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_TILEDPRODUCT_H

#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>

namespace mlir::kernel {

/// A loop over row tiles, each of which is one product and its epilogue:
///
///   scf.for %row = .. to .. step max {
///     kernel.row_tile %left max {
///       %sums:n = scf.for %k = .. to .. iter_args(zeros) { kernel.mma .. }
///       kernel.store_tile %sums .. -> %dest[..]
///     }
///   }
struct TiledProduct {
  scf::ForOp rows;
  RowTileOp tile;
  scf::ForOp depth;
  StoreTileOp store;
  int64_t chunk;      ///< of K, in elements
  int64_t rowsAtOnce; ///< that a chunk serves
  bool matrix;        ///< for matrix registers

  /// The product of `tile`, if its form is the one above, its tiles may be computed before the epilogues of those in
  /// front of them, and its weights are worth chunks.
  static std::optional<TiledProduct> match(RowTileOp tile, x86::TargetAttr target, x86::PlanAttr plan);
};

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOLLVM_TILEDPRODUCT_H
