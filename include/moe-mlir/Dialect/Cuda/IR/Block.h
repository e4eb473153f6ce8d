//===- Block.h - how a block of a kernel with products is made up ---------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_CUDA_IR_BLOCK_H
#define MOE_MLIR_DIALECT_CUDA_IR_BLOCK_H

#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

namespace mlir::cuda {

constexpr int64_t warpgroupThreads = 128;
constexpr int64_t loadingThreads = warpgroupThreads, multiplyingThreads = 2 * warpgroupThreads;
constexpr int64_t warpgroupRows = 64;        ///< of a tile: what a wgmma has
constexpr int64_t tileRows = warpgroupRows * multiplyingThreads / warpgroupThreads;
constexpr int64_t rowBytes = 128;            ///< of a step's row in shared memory: the width of the swizzle
constexpr int64_t barrierBytes = 1024;       ///< in front of the stages, which start at multiples of 1024
constexpr int64_t sharedBytes = 227 * 1024;  ///< that a block may have
constexpr int64_t plannedBytes = 200 * 1024; ///< of the stages, at most, where nobody asks for more
constexpr int64_t mostStages = 8;
constexpr int64_t fewRowsUnit = 16, mostFewRows = 64; ///< of the form for few rows
constexpr int64_t plannedFewRows = 16;                ///< those of a tile that a plan gives that form
constexpr int64_t leastStripColumns = 64, mostStripColumns = 128; ///< of the form for few rows
constexpr int64_t mostFewSteps = 8;                               ///< of K, that a stage holds in that form
/// Of a tile with few rows and more than so many steps of K, a plan has at most so many bytes in a stage. Measured on an
/// H200 (docs/Cuda.md, "Few rows"): with 12 to 32 steps, full stages take 0.86 to 0.98 of the time; with 64 and 224, 1.04.
constexpr int64_t mostShortSteps = 48, longFewBytes = 20 * 1024;
/// Steps of K with which a plan lets copies announce themselves (`noinc`), at most. Measured on an H200 (docs/Cuda.md,
/// "Arrival"): with 12 and 32 steps this takes down to 0.79 of the time; with 64, few rows take 0.74; with 64 and 224,
/// many rows gain nothing.
constexpr int64_t mostNoincSteps = 64;
constexpr int64_t registersOfBlock = 65536, leastRegisters = 24, mostRegisters = 240; ///< of a thread
constexpr int64_t threadsOfBlock = 1024, threadsOfSm = 2048, blocksOfSm = 32; ///< at most

/// Registers that each thread of a block starts with: as many as all can have, given by 8. What roles give back and take
/// is a part of these; for more than all of them together a role waits forever.
constexpr int64_t launchedRegisters(int64_t threads) { return registersOfBlock / threads / 8 * 8; }

/// Columns of a block of a packed weight [.., steps, columns, depth].
int64_t blockColumnsOf(Value weight);
/// Steps of K of such weights, at most. 0 without products.
int64_t stepsOf(kernel::FuncOp kernel);
/// How tiles with few rows are shared: all have so many products, of so many columns, which are cut into strips.
struct Strips {
  int64_t products, columns, stripColumns;

  /// None if the kernel's tiles have no form for few rows. A strip of a product alone has at most `most` columns.
  static std::optional<Strips> of(kernel::FuncOp kernel, int64_t most);
  /// Of a step of K of `rows` rows: these, and a strip of each product.
  int64_t stepBytes(int64_t rows) const { return (rows + products * stripColumns) * rowBytes; }
};
/// Bytes of a stage: a step of K of the rows of the largest tile, and of the widest weight. 0 without products.
int64_t stageBytesOf(kernel::FuncOp kernel);

/// Whether every stage of a ring that a role waits for is filled and released, by as many arrivals as its barriers
/// expect; emits an error if not.
LogicalResult verifyRings(WarpRolesOp roles);

} // namespace mlir::cuda

#endif // MOE_MLIR_DIALECT_CUDA_IR_BLOCK_H
