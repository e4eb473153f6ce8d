//===- Expression.h - arithmetic on single elements, read from text ------------------------------------*- C++ -*-===//
//
// Activations of experts that have no name are text of a model file, which may hold anything:
//
//   expression = "gate" | "up" | number | "(" operator expression { expression } ")"
//
// Experts with a gate have both values, others only `up`. python/moe_mlir/expressions.py writes and reads the same.
//
//===----------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SUPPORT_EXPRESSION_H
#define MOE_MLIR_SUPPORT_EXPRESSION_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace moe_mlir {

/// What an activation begins with if an expression follows.
inline constexpr llvm::StringLiteral expressionPrefix = "expr:";

/// A part of an expression; operands stand before their operator.
struct ExpressionStep {
  enum Kind { Gate, Up, Number, Unary, Binary } kind;
  double number = 0;         ///< Of a number: it is finite, and so is the float next to it.
  llvm::StringLiteral name = ""; ///< Of an operator, one of the lists below.
};
using Expression = llvm::SmallVector<ExpressionStep>;

/// The operators of one and of two values.
llvm::ArrayRef<llvm::StringLiteral> unaryOperators();
llvm::ArrayRef<llvm::StringLiteral> binaryOperators();

/// Reads an expression without its prefix. Errors say what is wrong at which character.
llvm::Expected<Expression> parseExpression(llvm::StringRef text, bool gated);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_EXPRESSION_H
