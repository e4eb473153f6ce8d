//===- Groups.h - grids whose ranks are groups of another grid's --------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_GROUPS_H
#define MOE_MLIR_DIALECT_MOE_IR_GROUPS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mlir::moe {

/// On a shard.grid, another grid: each of its ranks is as many neighbours there. Of two ranks that are groups of four,
/// the first one is ranks 0 and 1. They have the same part of a weight (#moe.shard), and nothing else goes by groups.
constexpr llvm::StringLiteral kGroupsOfAttr = "moe.groups_of";

/// The grid that `grid` groups; null if its ranks are no groups.
FlatSymbolRefAttr groupsOf(Operation *op, FlatSymbolRefAttr grid);

/// Says what is wrong with the value of `moe.groups_of` on `op`.
LogicalResult verifyGroupsOf(Operation *op, Attribute value);

} // namespace mlir::moe

#endif // MOE_MLIR_DIALECT_MOE_IR_GROUPS_H
