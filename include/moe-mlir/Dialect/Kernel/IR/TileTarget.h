//===- TileTarget.h - traits of a target that shape kernels -------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_TILETARGET_H
#define MOE_MLIR_DIALECT_KERNEL_IR_TILETARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::kernel {

/// The sizes that block programs are made with. They are all that differs between the programs of two targets,
/// but that rows for matrix registers are gathered before.
struct TileTarget {
  int64_t rows = 6;          ///< rows of a tile of accumulators
  int64_t pairRows = 6;      ///< the same for products of bf16 pairs
  bool matrix = false;       ///< products of bf16 pairs run on matrix registers
  int64_t columns = 64;      ///< columns of a tile, a divisor of blockColumns
  int64_t blockColumns = 64; ///< columns that a weight is blocked by
  int64_t depth = 2;         ///< elements of 16 bits that one step of a product takes
  int64_t chunkRows = 48;    ///< rows of a linear that a block takes at a time, in whole tiles

  // Routing: enough chunks of tokens for the blocks, few enough that each of them can add up the counts of all.
  int64_t chunks = 16;           ///< at most
  int64_t chunkTokens = 1;       ///< tokens of a chunk, at least
  int64_t countedExperts = 1024; ///< experts whose counts are added up at a time

  /// Elements of `element` that one step of a product takes: on a GPU as many bytes of each type, on a CPU one element
  /// or a pair of bf16.
  int64_t depthOf(Type element) const {
    if (depth > 2)
      return depth * 16 / element.getIntOrFloatBitWidth();
    return element.isBF16() ? depth : 1;
  }

  /// Rows of a tile in a product of `element`.
  int64_t rowsOf(Type element) const { return depthOf(element) == 2 ? pairRows : rows; }

  /// Rows of a chunk in a product of `element`.
  int64_t chunkRowsOf(Type element) const { return llvm::alignTo(chunkRows, rowsOf(element)); }

  /// Whether products of `element` run on matrix registers, which want rows one below the other and apart by an odd
  /// number of cache lines.
  bool hasMatrix(Type element) const { return matrix && depthOf(element) == 2; }

  /// From `kernel.target`: that of a CPU (see CpuTarget.h) or of a GPU (see CudaTarget.h); the defaults if there is
  /// none. Emits an error if the attribute is wrong.
  static FailureOr<TileTarget> get(ModuleOp module);
};

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_IR_TILETARGET_H
