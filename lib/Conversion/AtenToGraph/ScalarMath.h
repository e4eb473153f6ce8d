//===- ScalarMath.h - activations on one element -----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_SCALARMATH_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_SCALARMATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace mlir::aten {

/// Builds arithmetic on scalars of type f32, as the region of a moe.expert holds it.
struct ScalarMath {
  OpBuilder &builder;
  Location loc;

  template <typename Op, typename... Values> Value make(Values... operands) const {
    return Op::create(builder, loc, operands...);
  }
  Value constant(double value) const { return make<arith::ConstantOp>(builder.getF32FloatAttr(value)); }
  Value add(Value a, Value b) const { return make<arith::AddFOp>(a, b); }
  Value mul(Value a, Value b) const { return make<arith::MulFOp>(a, b); }
  Value atMost(Value x, double bound) const { return make<arith::MinimumFOp>(x, constant(bound)); }
  Value atLeast(Value x, double bound) const { return make<arith::MaximumFOp>(x, constant(bound)); }

  Value relu(Value x) const { return atLeast(x, 0); }
  /// 1 / (1 + exp(-x))
  Value sigmoid(Value x) const;
  /// log(1 + exp(x)), without overflow
  Value softplus(Value x) const;
  Value silu(Value x) const;
  /// x / 2 (1 + erf(x / sqrt(2)))
  Value gelu(Value x) const;
  /// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
  Value geluTanh(Value x) const;
};

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_SCALARMATH_H
