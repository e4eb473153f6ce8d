//===- SizeExpr.cpp - polynomials over unknown sizes --------------------------------------------------------------===//

#include "moe-mlir/Support/SizeExpr.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace moe_mlir;

/// Coefficients stay at the largest number that they reach: none becomes small by wrapping around. Each has its
/// opposite.
static int64_t farthest(bool isNegative) { return isNegative ? -INT64_MAX : INT64_MAX; }
static int64_t inRange(int64_t coefficient) { return std::max(coefficient, farthest(true)); }

SizeExpr::SizeExpr(int64_t constant) {
  if (constant)
    terms[{}] = inRange(constant);
}

SizeExpr SizeExpr::symbol(unsigned number) {
  SizeExpr result;
  result.terms[{number}] = 1;
  return result;
}

static int64_t multiply(int64_t x, int64_t y) {
  int64_t product;
  return llvm::MulOverflow(x, y, product) ? farthest((x < 0) != (y < 0)) : inRange(product);
}

static void add(SizeExpr &sum, const std::vector<unsigned> &factors, int64_t coefficient) {
  int64_t &entry = sum.terms[factors];
  if (llvm::AddOverflow(entry, coefficient, entry))
    entry = farthest(coefficient < 0);
  entry = inRange(entry);
  if (!entry)
    sum.terms.erase(factors);
}

SizeExpr SizeExpr::operator+(const SizeExpr &other) const {
  SizeExpr result = *this;
  for (const auto &[factors, coefficient] : other.terms)
    add(result, factors, coefficient);
  return result;
}

SizeExpr SizeExpr::operator-(const SizeExpr &other) const { return *this + other * SizeExpr(-1); }

SizeExpr SizeExpr::operator*(const SizeExpr &other) const {
  SizeExpr result;
  for (const auto &[left, a] : terms)
    for (const auto &[right, b] : other.terms) {
      std::vector<unsigned> factors(left);
      factors.insert(factors.end(), right.begin(), right.end());
      llvm::sort(factors);
      add(result, factors, multiply(a, b));
    }
  return result;
}

std::optional<SizeExpr> SizeExpr::dividedBy(const SizeExpr &other) const {
  if (other.terms.size() != 1)
    return std::nullopt;
  const auto &[divisor, coefficient] = *other.terms.begin();
  SizeExpr result;
  for (const auto &[factors, c] : terms) {
    std::vector<unsigned> rest;
    if (c % coefficient || !std::includes(factors.begin(), factors.end(), divisor.begin(), divisor.end()))
      return std::nullopt;
    std::set_difference(factors.begin(), factors.end(), divisor.begin(), divisor.end(), std::back_inserter(rest));
    add(result, rest, c / coefficient);
  }
  return result;
}

std::optional<int64_t> SizeExpr::getConstant() const {
  if (terms.empty())
    return 0;
  if (terms.size() == 1 && terms.begin()->first.empty())
    return terms.begin()->second;
  return std::nullopt;
}
