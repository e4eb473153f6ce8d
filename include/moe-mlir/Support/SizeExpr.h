//===- SizeExpr.h - polynomials over unknown sizes ------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_SIZEEXPR_H
#define MOE_MLIR_SUPPORT_SIZEEXPR_H

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace moe_mlir {

/// A polynomial with integer coefficients over sizes that are unknown at compile time, which have numbers.
class SizeExpr {
public:
  SizeExpr(int64_t constant = 0);
  static SizeExpr symbol(unsigned number);

  SizeExpr operator+(const SizeExpr &other) const;
  SizeExpr operator-(const SizeExpr &other) const;
  SizeExpr operator*(const SizeExpr &other) const;
  bool operator==(const SizeExpr &other) const { return terms == other.terms; }
  bool operator!=(const SizeExpr &other) const { return terms != other.terms; }
  /// The quotient if `other` is a single term that divides every term.
  std::optional<SizeExpr> dividedBy(const SizeExpr &other) const;
  std::optional<int64_t> getConstant() const;

  /// Factors of each term (symbol numbers, sorted), and its coefficient, which is never 0.
  std::map<std::vector<unsigned>, int64_t> terms;
};

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_SIZEEXPR_H
