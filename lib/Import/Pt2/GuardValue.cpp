//===- GuardValue.cpp - the value of a guard for sizes that are known ---------------------------------------------===//

#include "GuardText.h"

#include <algorithm>
#include <cmath>

using namespace moe_mlir::pt2;
using Kind = GuardTerm::Kind;

static double combine(Kind kind, double left, double right) {
  switch (kind) {
  case GuardTerm::Add:
    return left + right;
  case GuardTerm::Sub:
    return left - right;
  case GuardTerm::Mul:
    return left * right;
  case GuardTerm::Min:
    return std::min(left, right);
  case GuardTerm::Max:
    return std::max(left, right);
  case GuardTerm::Div:
    return right == 0 ? NAN : left / right;
  case GuardTerm::FloorDiv:
    return right == 0 ? NAN : std::floor(left / right);
  case GuardTerm::Mod:
    return right == 0 ? NAN : left - std::floor(left / right) * right;
  case GuardTerm::Eq:
    return left == right;
  case GuardTerm::Ne:
    return left != right;
  case GuardTerm::Lt:
    return left < right;
  case GuardTerm::Le:
    return left <= right;
  case GuardTerm::Gt:
    return left > right;
  case GuardTerm::Ge:
    return left >= right;
  case GuardTerm::And:
    return left && right;
  default:
    return left || right;
  }
}

double moe_mlir::pt2::evaluate(const GuardTerm &term, llvm::function_ref<double(const GuardTerm &)> leaf) {
  auto value = [&](unsigned operand) { return evaluate(term.operands[operand], leaf); };
  switch (term.kind) {
  case GuardTerm::Number:
    return static_cast<double>(term.number);
  case GuardTerm::Real:
    return term.real;
  case GuardTerm::Size:
  case GuardTerm::Symbol:
    return leaf(term);
  case GuardTerm::ToReal:
    return value(0);
  case GuardTerm::Floor:
    return std::floor(value(0));
  case GuardTerm::Ceil:
    return std::ceil(value(0));
  case GuardTerm::Trunc:
    return std::trunc(value(0));
  case GuardTerm::Abs:
    return std::abs(value(0));
  case GuardTerm::Neg:
    return -value(0);
  case GuardTerm::Not:
    return !value(0);
  default:
    break;
  }
  double result = value(0);
  for (unsigned i = 1; i < term.operands.size(); ++i) {
    const double other = value(i);
    result = std::isnan(result) || std::isnan(other) ? NAN : combine(term.kind, result, other);
  }
  return result;
}
