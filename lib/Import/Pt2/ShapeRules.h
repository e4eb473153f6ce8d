//===- ShapeRules.h - the shape of a call's result, from its operands -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_SHAPERULES_H
#define MOE_MLIR_LIB_IMPORT_PT2_SHAPERULES_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include <optional>

namespace moe_mlir::pt2 {

/// A size that the operands do not tell: a bound or a size in a list is a value of the graph.
constexpr int64_t kAnySize = -1;

/// Sizes of a result of an operator that moves, joins, reduces or multiplies: static ones, `ShapedType::kDynamic` where
/// a dynamic dimension of an operand becomes the result's, and `kAnySize`. Nothing for other operators. The operands
/// have the ranks, and the dimensions that arguments name exist.
std::optional<llvm::SmallVector<int64_t>> getResultSizes(mlir::aten::CallOp call, unsigned result);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_SHAPERULES_H
