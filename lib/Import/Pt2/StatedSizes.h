//===- StatedSizes.h - sizes that numbers in a call's arguments state -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_STATEDSIZES_H
#define MOE_MLIR_LIB_IMPORT_PT2_STATEDSIZES_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include "llvm/Support/Error.h"

#include <optional>

namespace moe_mlir::pt2 {

/// Refuses numbers that the operator cannot take: a negative size, steps that lead nowhere, a norm over dimensions that
/// its operand does not have. Lowerings go by the types and would not look at them. Other operators pass.
llvm::Error checkStatedSizes(mlir::aten::CallOp call);

// Rules of ShapeRules.h.

/// Sizes that a list states; -1 is what is left over or, in `expand`, the operand's.
std::optional<llvm::SmallVector<int64_t>> listed(mlir::aten::CallOp call, unsigned result);
/// Several sizes instead of one; -1 is what is left over.
std::optional<llvm::SmallVector<int64_t>> unflattened(mlir::aten::CallOp call, unsigned result);
/// The size of a piece that split or chunk cuts off a dimension of size `whole`, or `kAnySize`.
int64_t pieceOf(mlir::aten::CallOp call, unsigned result, int64_t dim, int64_t whole);
/// The operand's sizes by how often it is repeated.
std::optional<llvm::SmallVector<int64_t>> repeated(mlir::aten::CallOp call, unsigned result);
/// As many numbers as steps lead from the start to the end.
std::optional<llvm::SmallVector<int64_t>> counted(mlir::aten::CallOp call, unsigned result);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_STATEDSIZES_H
