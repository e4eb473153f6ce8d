//===- Groups.h - grids whose ranks are groups of another grid's --------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_GROUPS_H
#define MOE_MLIR_DIALECT_MOE_IR_GROUPS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mlir::moe {

/// Attribute of a shard.grid: another grid, whose neighbouring ranks are grouped, in groups of one size. Each rank of this
/// grid is one group: of a grid of two that groups one of four, rank 0 is the group of ranks 0 and 1 there. The ranks of a
/// group hold the same part of a weight (#moe.shard); nothing else goes by groups.
constexpr llvm::StringLiteral kGroupsOfAttr = "moe.groups_of";

/// The grid that `grid` groups; null if its ranks are no groups.
FlatSymbolRefAttr groupsOf(Operation *op, FlatSymbolRefAttr grid);

/// Says what is wrong with the value of `moe.groups_of` on `op`.
LogicalResult verifyGroupsOf(Operation *op, Attribute value);

} // namespace mlir::moe

#endif // MOE_MLIR_DIALECT_MOE_IR_GROUPS_H
