//===- Tiles.h - how a kernel with products uses threads and shared memory ------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_TILES_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_TILES_H

#include "moe-mlir/Dialect/Kernel/IR/CudaTarget.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

namespace mlir::kernel {

constexpr int64_t kRowBytes = 128;        ///< of a step's row in shared memory: the width of the swizzle
constexpr int64_t kChunks = 8;            ///< of 16 bytes in such a row
constexpr int64_t kLoadingThreads = 128;  ///< one warpgroup
constexpr int64_t kLoadingRegisters = 56; ///< per thread
constexpr int64_t kComputingRegisters = 224;
constexpr int64_t kThreads = 384;
constexpr int64_t kLoadingWarps = 4;
constexpr int64_t kComputingWarps = 8;
constexpr int64_t kBarrierBytes = 1024;      ///< in front of the stages, which start at multiples of 1024
constexpr int64_t kStagesBytes = 200 * 1024; ///< at most, of the 227 KiB that a block may have
constexpr int64_t kFewRows = 16;             ///< a tile of so few rows is computed with swapped operands

/// Where the rows of `a` come from.
enum class RowSource {
  Tile,    ///< neighbours in memory: TMA
  Copies,  ///< anywhere, in multiples of 16 bytes: a copy of 16 bytes per thread
  Elements ///< anything else: one element at a time
};

/// The sizes of a kernel with products. A stage holds one step of K: `rows` rows of `a`, then `columns` rows of
/// weights.
struct TilePlan {
  int64_t rows, columns, stages;
  Type element; ///< of both operands
  /// Products with few rows have a form of their own, for one strip of columns at a time: so many strips make up the
  /// columns of each product of a tile. No strips: there is no such form.
  int64_t strips = 0, stripColumns = 0;
  bool usesTiles = false;  ///< some rows of `a` come by TMA
  bool usesCopies = false; ///< some come by the threads, which announce them later

  /// Tensor cores multiply 16-bit floats; f32 is multiplied by the threads, in full precision.
  bool usesTensorCores() const { return !element.isF32(); }
  /// Elements of a step of K.
  int64_t depth() const { return 8 * kRowBytes / element.getIntOrFloatBitWidth(); }
  int64_t aBytes() const { return rows * kRowBytes; }
  int64_t stageBytes() const { return aBytes() + columns * kRowBytes; }
  int64_t sharedBytes() const { return kBarrierBytes + stages * stageBytes(); }
  /// Steps between the copies of a row and the arrival that announces them. A consumer frees a stage when it has the
  /// next one, hence two stages less than there are.
  int64_t lag() const { return stages - 2; }

  /// Emits an error if the products of `func` do not fit the target.
  static FailureOr<TilePlan> get(FuncOp func, const CudaTarget &target);
};

/// Columns of a block of a packed weight [.., steps, columns, depth].
int64_t blockColumnsOf(Value weight);
/// Rows of the boxes in which TMA loads it.
int64_t boxRowsOf(Value weight);
/// How a tile of at most `rows` rows gets the rows of `a`.
RowSource rowSource(MmaOp mma, int64_t rows);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_TILES_H
