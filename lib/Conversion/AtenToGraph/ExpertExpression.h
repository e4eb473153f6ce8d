//===- ExpertExpression.h - activations of experts that have no name -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_EXPERTEXPRESSION_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_EXPERTEXPRESSION_H

#include "ScalarMath.h"

#include "moe-mlir/Support/Expression.h"

namespace mlir::aten {

/// The value of an expression for one element of each part; `gate` is null without a gate.
Value buildExpression(const ScalarMath &s, ArrayRef<moe_mlir::ExpressionStep> steps, Value gate, Value up);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_EXPERTEXPRESSION_H
