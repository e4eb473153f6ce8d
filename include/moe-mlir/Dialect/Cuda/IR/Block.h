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
/// Steps of K with which a plan lets copies announce themselves (`noinc`), at most. Measured on an H200 (docs/Cuda.md,
/// "Arrival"): with 12 and 32 steps this takes down to 0.79 of the time; with 64 and 224, many rows gain nothing.
constexpr int64_t mostNoincSteps = 48;
constexpr int64_t registersOfBlock = 65536, leastRegisters = 24, mostRegisters = 240; ///< of a thread
constexpr int64_t threadsOfBlock = 1024, threadsOfSm = 2048, blocksOfSm = 32; ///< at most

/// Registers that each thread of a block starts with: as many as all can have, given by 8. What roles give back and take
/// is a part of these; for more than all of them together a role waits forever.
constexpr int64_t launchedRegisters(int64_t threads) { return registersOfBlock / threads / 8 * 8; }

/// Columns of a block of a packed weight [.., steps, columns, depth].
int64_t blockColumnsOf(Value weight);
/// Steps of K of such weights, at most. 0 without products.
int64_t stepsOf(kernel::FuncOp kernel);
/// Bytes of a stage: a step of K of the rows of the largest tile, and of the widest weight. 0 without products.
int64_t stageBytesOf(kernel::FuncOp kernel);

/// Whether every stage of a ring that a role waits for is filled and released, by as many arrivals as its barriers
/// expect; emits an error if not.
LogicalResult verifyRings(WarpRolesOp roles);

} // namespace mlir::cuda

#endif // MOE_MLIR_DIALECT_CUDA_IR_BLOCK_H
