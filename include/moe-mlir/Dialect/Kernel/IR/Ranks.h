//===- Ranks.h - the ranks of a grid ------------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_RANKS_H
#define MOE_MLIR_DIALECT_KERNEL_IR_RANKS_H

#include <cstdint>
#include <optional>

namespace mlir::shard {
class GridOp;
} // namespace mlir::shard

namespace mlir::kernel {

/// Number of ranks of a grid; nothing if it is not known, or no i32 holds it.
std::optional<int32_t> countRanks(shard::GridOp grid);

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_IR_RANKS_H
