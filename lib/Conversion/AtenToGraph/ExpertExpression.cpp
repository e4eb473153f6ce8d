//===- ExpertExpression.cpp - activations of experts that have no name --------------------------------------------===//

#include "ExpertExpression.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::aten;
using moe_mlir::ExpressionStep;

static Value buildUnary(const ScalarMath &s, StringRef name, Value x) {
  using Build = Value (*)(const ScalarMath &, Value);
  Build build =
      llvm::StringSwitch<Build>(name)
          .Case("neg", [](const ScalarMath &s, Value x) -> Value { return s.make<arith::NegFOp>(x); })
          .Case("abs", [](const ScalarMath &s, Value x) -> Value { return s.make<math::AbsFOp>(x); })
          .Case("exp", [](const ScalarMath &s, Value x) -> Value { return s.make<math::ExpOp>(x); })
          .Case("expm1", [](const ScalarMath &s, Value x) -> Value { return s.make<math::ExpM1Op>(x); })
          .Case("log", [](const ScalarMath &s, Value x) -> Value { return s.make<math::LogOp>(x); })
          .Case("log1p", [](const ScalarMath &s, Value x) -> Value { return s.make<math::Log1pOp>(x); })
          .Case("sqrt", [](const ScalarMath &s, Value x) -> Value { return s.make<math::SqrtOp>(x); })
          .Case("rsqrt",
                [](const ScalarMath &s, Value x) -> Value {
                  return s.make<arith::DivFOp>(s.constant(1), s.make<math::SqrtOp>(x));
                })
          .Case("square", [](const ScalarMath &s, Value x) { return s.mul(x, x); })
          .Case("sin", [](const ScalarMath &s, Value x) -> Value { return s.make<math::SinOp>(x); })
          .Case("cos", [](const ScalarMath &s, Value x) -> Value { return s.make<math::CosOp>(x); })
          .Case("sigmoid", [](const ScalarMath &s, Value x) { return s.sigmoid(x); })
          .Case("tanh", [](const ScalarMath &s, Value x) -> Value { return s.make<math::TanhOp>(x); })
          .Case("erf", [](const ScalarMath &s, Value x) -> Value { return s.make<math::ErfOp>(x); })
          .Case("relu", [](const ScalarMath &s, Value x) { return s.relu(x); })
          .Case("silu", [](const ScalarMath &s, Value x) { return s.silu(x); })
          .Case("gelu", [](const ScalarMath &s, Value x) { return s.gelu(x); })
          .Case("gelu_tanh", [](const ScalarMath &s, Value x) { return s.geluTanh(x); })
          .Case("softplus", [](const ScalarMath &s, Value x) { return s.softplus(x); });
  return build(s, x);
}

static Value buildBinary(const ScalarMath &s, StringRef name, Value x, Value y) {
  if (name == "add")
    return s.add(x, y);
  if (name == "sub")
    return s.make<arith::SubFOp>(x, y);
  if (name == "mul")
    return s.mul(x, y);
  if (name == "div")
    return s.make<arith::DivFOp>(x, y);
  if (name == "pow")
    return s.make<math::PowFOp>(x, y);
  if (name == "min")
    return s.make<arith::MinimumFOp>(x, y);
  assert(name == "max" && "an operator of two values");
  return s.make<arith::MaximumFOp>(x, y);
}

Value mlir::aten::buildExpression(const ScalarMath &s, ArrayRef<ExpressionStep> steps, Value gate, Value up) {
  SmallVector<Value> stack;
  for (const ExpressionStep &step : steps) {
    switch (step.kind) {
    case ExpressionStep::Gate:
      stack.push_back(gate);
      break;
    case ExpressionStep::Up:
      stack.push_back(up);
      break;
    case ExpressionStep::Number:
      stack.push_back(s.constant(step.number));
      break;
    case ExpressionStep::Unary:
      stack.back() = buildUnary(s, step.name, stack.back());
      break;
    case ExpressionStep::Binary: {
      Value right = stack.pop_back_val();
      stack.back() = buildBinary(s, step.name, stack.back(), right);
      break;
    }
    }
  }
  return stack.front();
}
