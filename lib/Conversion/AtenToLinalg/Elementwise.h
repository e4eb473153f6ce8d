//===- Elementwise.h - operators on single elements share these -----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOLINALG_ELEMENTWISE_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOLINALG_ELEMENTWISE_H

#include "Lowering.h"

namespace mlir::aten {

/// Builds one scalar operation on operands of the compute type.
struct Scalar {
  OpBuilder &b;
  Location loc;

  Value constant(Type type, double value) const {
    if (isa<FloatType>(type))
      return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, static_cast<int64_t>(value)));
  }
  template <typename Op> Value make(ValueRange operands) const { return Op::create(b, loc, operands); }
  template <typename FloatOp, typename IntOp> Value either(ValueRange operands) const {
    return isa<FloatType>(operands[0].getType()) ? make<FloatOp>(operands) : make<IntOp>(operands);
  }
  Value compare(arith::CmpFPredicate floats, arith::CmpIPredicate integers, Value lhs, Value rhs) const {
    if (isa<FloatType>(lhs.getType()))
      return arith::CmpFOp::create(b, loc, floats, lhs, rhs);
    return arith::CmpIOp::create(b, loc, integers, lhs, rhs);
  }
};

/// A tensor or scalar argument, as an operand of the generic op or as a value that its body captures.
Value getOperand(Lowering &l, StringRef name);

/// Any number of operands under one body; scalars are captured.
Values lowerTogether(Lowering &l, ArrayRef<Value> operands, ArrayRef<Type> computeTypes, Lowering::Body body);

/// Casts, and operators that return their operand: clone, contiguous, detach, dropout without training.
Values lowerCast(Lowering &l);

/// One operand, tensor argument `self`, computed in the compute type of the result (of the operand for predicates).
Values lowerFunction(Lowering &l, llvm::function_ref<Value(const Scalar &, Value)> compute);
template <Value (*compute)(const Scalar &, Value)> Values lowerUnary(Lowering &l) { return lowerFunction(l, compute); }

void addUnary(LoweringTable &table);
void addActivations(LoweringTable &table);
void addArithmetic(LoweringTable &table);
void addPredicates(LoweringTable &table);

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOLINALG_ELEMENTWISE_H
