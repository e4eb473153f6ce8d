//===- ScalarMath.cpp - activations on one element ----------------------------------------------------------------===//

#include "ScalarMath.h"

#include "moe-mlir/Dialect/Nn/IR/Nn.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::aten;

/// x / 2 (1 + t)
static Value halfOfOnePlus(const ScalarMath &s, Value x, Value t) {
  return s.mul(s.mul(s.constant(0.5), x), s.add(s.constant(1), t));
}

Value ScalarMath::sigmoid(Value x) const {
  return make<arith::DivFOp>(constant(1), add(constant(1), make<math::ExpOp>(make<arith::NegFOp>(x))));
}

Value ScalarMath::softplus(Value x) const {
  return add(relu(x), make<math::Log1pOp>(make<math::ExpOp>(make<arith::NegFOp>(make<math::AbsFOp>(x)))));
}

Value ScalarMath::silu(Value x) const { return make<nn::SiluOp>(x); }

Value ScalarMath::gelu(Value x) const {
  return halfOfOnePlus(*this, x, make<math::ErfOp>(mul(x, constant(M_SQRT1_2))));
}

Value ScalarMath::geluTanh(Value x) const {
  Value cube = mul(mul(x, x), x);
  Value inner = mul(constant(M_SQRT2 * M_2_SQRTPI / 2), add(x, mul(constant(0.044715), cube)));
  return halfOfOnePlus(*this, x, make<math::TanhOp>(inner));
}
