//===- Dense.h - what the dense lowerings share ---------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DIALECT_MOE_TRANSFORMS_DENSE_H
#define MOE_MLIR_LIB_DIALECT_MOE_TRANSFORMS_DENSE_H

#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Support/LinalgBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::moe {

inline Value constantI32(ImplicitLocOpBuilder &b, int32_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
}

/// Whether an id (i32) names an expert: -1 does not.
inline Value isExpert(ImplicitLocOpBuilder &b, Value id) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, id, constantI32(b, 0));
}

/// The ids [T, k] of a gate with a capacity, where -1 stands for each pair that finds no place in its expert.
Value dropBeyondCapacity(ImplicitLocOpBuilder &b, GateOp op, Value ids);

} // namespace mlir::moe

#endif // MOE_MLIR_LIB_DIALECT_MOE_TRANSFORMS_DENSE_H
