//===- KnownSizes.cpp - what of a graph's sizes is known, and what follows ----------------------------------------===//

#include "moe-mlir/Analysis/GraphSizes.h"

using namespace mlir;
using namespace mlir::kernel;

SizeExpr GraphSizes::substitute(const SizeExpr &size, unsigned symbol, const SizeExpr &by) const {
  SizeExpr result;
  for (const auto &[factors, coefficient] : size.terms) {
    SizeExpr product = coefficient;
    for (unsigned factor : factors)
      product = product * (factor == symbol ? by : SizeExpr::symbol(factor));
    result = result + product;
  }
  return result;
}

static bool mentions(const SizeExpr &size, unsigned symbol) {
  return llvm::any_of(size.terms, [&](const auto &term) { return llvm::is_contained(term.first, symbol); });
}

SizeExpr GraphSizes::reduce(SizeExpr size) const {
  // No replacement mentions a symbol that was replaced before it.
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto &[symbol, by] : equal)
      if (mentions(size, symbol)) {
        size = substitute(size, symbol, by);
        changed = true;
      }
  }
  return size;
}

void GraphSizes::assume(const SizeExpr &size) {
  SizeExpr zero = reduce(size);
  if (lastDefinition(zero))
    return;
  for (const auto &[factors, coefficient] : llvm::reverse(zero.terms)) {
    if (factors.size() != 1 || (coefficient != 1 && coefficient != -1))
      continue;
    SizeExpr rest = zero - SizeExpr::symbol(factors[0]) * coefficient;
    if (mentions(rest, factors[0]) || symbols[factors[0]].kind != Kind::Dim)
      continue;
    equal[factors[0]] = rest * -coefficient;
    return;
  }
}

void GraphSizes::assumeNotNegative(const SizeExpr &size) {
  if (size.terms.size() == 1 && size.terms.begin()->first.size() == 1 && size.terms.begin()->second > 0)
    symbols[size.terms.begin()->first.front()].nonNegative = true;
}

bool GraphSizes::isNonNegative(const SizeExpr &given, unsigned depth) {
  SizeExpr size = reduce(given);
  bool positive = llvm::all_of(size.terms, [&](const auto &term) {
    return term.second > 0 && llvm::all_of(term.first, [&](unsigned s) { return symbols[s].nonNegative; });
  });
  if (positive)
    return true;
  if (depth == 4)
    return false;
  // min(x, y) is x or y: where it adds, both must do; where it is taken away, one suffices. max is the opposite.
  for (const auto &[factors, coefficient] : size.terms) {
    if (factors.size() != 1)
      continue;
    const auto factor = factors[0];
    const Symbol &symbol = symbols[factor];
    if (symbol.kind != Kind::Min && symbol.kind != Kind::Max)
      continue;
    std::vector<SizeExpr> operands = symbol.operands;
    bool both = (symbol.kind == Kind::Min) == (coefficient > 0);
    auto holds = [&](const SizeExpr &by) { return isNonNegative(substitute(size, factor, by), depth + 1); };
    return both ? holds(operands[0]) && holds(operands[1]) : holds(operands[0]) || holds(operands[1]);
  }
  return false;
}
