//===- SizeTable.h - the sizes that quantities of a report depend on ------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_REPORT_SIZETABLE_H
#define MOE_MLIR_LIB_REPORT_SIZETABLE_H

#include "moe-mlir/Support/SizeExpr.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace moe_mlir {

/// The symbols of size expressions: named sizes and loop variables, which are not negative, and minima, maxima and
/// quotients of expressions, which are no polynomials.
class SizeTable {
public:
  SizeExpr named(llvm::StringRef name);
  /// A loop variable, distinct from all others.
  SizeExpr variable();
  SizeExpr min(const SizeExpr &a, const SizeExpr &b);
  SizeExpr max(const SizeExpr &a, const SizeExpr &b);
  /// The quotient, rounded down.
  SizeExpr floorDiv(const SizeExpr &a, const SizeExpr &b);

  bool isVariable(unsigned number) const { return symbols[number].kind == Kind::Variable; }
  /// Whether a loop variable occurs in `expr`.
  bool hasVariables(const SizeExpr &expr) const;

  /// States that `expr` is not negative.
  void addFact(SizeExpr expr);
  /// Whether a >= b follows from the facts; false if unknown.
  bool isAtLeast(const SizeExpr &a, const SizeExpr &b) const;

  /// The least of some expressions, without those that are never the least.
  SizeExpr min(std::vector<SizeExpr> exprs);
  /// Whether one of the symbols `names` occurs in `expr`, also inside of minima, maxima and quotients.
  bool mentions(const SizeExpr &expr, const std::vector<std::string> &names) const;

  /// The value where named sizes have these values; none if another name occurs.
  std::optional<int64_t> evaluate(const SizeExpr &expr, const llvm::StringMap<int64_t> &sizes) const;
  /// "2*batch*seq + 7"; quotients are written with `/` and rounded down.
  std::string toString(const SizeExpr &expr) const;
  /// The named sizes, in the order of their first use.
  std::vector<std::string> names() const;

private:
  enum class Kind { Named, Variable, Min, Max, Quotient };
  struct Symbol {
    Kind kind;
    std::string name;
    SizeExpr a, b;
    bool isNonNegative = true;
  };
  bool isSumOfNonNegatives(const SizeExpr &expr) const;
  SizeExpr composite(Kind kind, const SizeExpr &a, const SizeExpr &b);

  std::vector<Symbol> symbols;
  std::vector<SizeExpr> facts;
  llvm::StringMap<unsigned> byName;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_REPORT_SIZETABLE_H
