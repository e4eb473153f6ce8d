//===- Moe.h - gate, dispatch, expert, combine --------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_MOE_H
#define MOE_MLIR_DIALECT_MOE_IR_MOE_H

#include "moe-mlir/Support/ShapeCheck.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

namespace mlir::shard {
class GridOp;
} // namespace mlir::shard

#include "moe-mlir/Dialect/Moe/IR/MoeDialect.h.inc"
#include "moe-mlir/Dialect/Moe/IR/MoeEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeAttrs.h.inc"

namespace mlir::moe {
/// Ids are i32, and so is the number of experts.
constexpr int64_t kMaxExperts = std::numeric_limits<int32_t>::max();
/// On a packed parameter, array<i64>: its shape before the pack.
constexpr llvm::StringLiteral kShapeAttr = "moe.shape";
/// On an argument or result, the grid or grids among whose ranks its dimension 0 is divided.
constexpr llvm::StringLiteral kSplitAttr = "moe.split";
/// Of an assertion about the sizes of all that the caller gives.
constexpr llvm::StringLiteral kOfCallAttr = "moe.of_call";
/// On a shard.grid, the names of its dimensions.
constexpr llvm::StringLiteral kAxesAttr = "moe.axes";
/// On a shard.grid, the grid whose dimension it is.
constexpr llvm::StringLiteral kAxisOfAttr = "moe.axis_of";
/// On a function, a #moe.variant.
constexpr llvm::StringLiteral kVariantAttr = "moe.variant";

/// The grids that a `moe.split` names, the slowest first; none without the attribute.
SmallVector<FlatSymbolRefAttr> splitGrids(Attribute split);

/// What the function is a variant of; null if it is the only way to run its entry.
VariantAttr variantOf(Operation *function);
/// Says what is wrong with the value of `moe.variant` on `op`.
LogicalResult verifyVariant(Operation *op, Attribute value);

/// The number of ranks of the grid that `op` names; says what is wrong if it names none, or one of unknown size.
FailureOr<int64_t> verifyGrid(Operation *op, FlatSymbolRefAttr grid, SymbolTableCollection &symbols);
/// The same for an op that has been verified.
int64_t ranksOf(Operation *op, FlatSymbolRefAttr grid);
/// Whether the number of ranks of a grid is known, and at least one.
bool hasRanks(shard::GridOp grid);

/// A grid that is a dimension of another one.
struct GridAxis {
  FlatSymbolRefAttr grid; ///< the other one
  int64_t dim;
  int64_t behind; ///< from a rank to the next one on this axis, in numbers of `grid`
};
/// The grid whose dimension `grid` is; none if it is no dimension of another one.
std::optional<GridAxis> axisOf(Operation *op, FlatSymbolRefAttr grid);
/// The same of `grid` itself.
std::optional<GridAxis> axisOf(shard::GridOp grid);
/// Says what is wrong with the value of `moe.axis_of` on `op`.
LogicalResult verifyAxisOf(Operation *op, Attribute value);
} // namespace mlir::moe

#define GET_OP_CLASSES
#include "moe-mlir/Dialect/Moe/IR/MoeOps.h.inc"

#endif // MOE_MLIR_DIALECT_MOE_IR_MOE_H
