//===- SizeTable.cpp - the sizes that quantities of a report depend on --------------------------------------------===//

#include "SizeTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace llvm;
using namespace moe_mlir;

SizeExpr SizeTable::named(StringRef name) {
  auto [it, isNew] = byName.try_emplace(name, symbols.size());
  if (isNew)
    symbols.push_back({Kind::Named, name.str(), {}, {}, true});
  return SizeExpr::symbol(it->second);
}

SizeExpr SizeTable::variable() {
  symbols.push_back({Kind::Variable, "", {}, {}, true});
  return SizeExpr::symbol(symbols.size() - 1);
}

SizeExpr SizeTable::composite(Kind kind, const SizeExpr &a, const SizeExpr &b) {
  for (auto [number, symbol] : enumerate(symbols))
    if (symbol.kind == kind && symbol.a == a && symbol.b == b)
      return SizeExpr::symbol(number);
  bool hasSign = kind == Kind::Max        ? !isAtLeast(a, 0) && !isAtLeast(b, 0)
                 : kind == Kind::Quotient ? !isAtLeast(a, 0)
                                          : !isAtLeast(a, 0) || !isAtLeast(b, 0);
  symbols.push_back({kind, "", a, b, !hasSign});
  SizeExpr result = SizeExpr::symbol(symbols.size() - 1);
  switch (kind) {
  case Kind::Min:
    addFact(a - result);
    addFact(b - result);
    break;
  case Kind::Max:
    addFact(result - a);
    addFact(result - b);
    break;
  case Kind::Quotient:
    addFact(a - result * b);
    addFact(result * b + b - a - 1);
    break;
  case Kind::Named:
  case Kind::Variable:
    break;
  }
  return result;
}

SizeExpr SizeTable::min(const SizeExpr &a, const SizeExpr &b) {
  if (isAtLeast(b, a))
    return a;
  if (isAtLeast(a, b))
    return b;
  return b.terms < a.terms ? composite(Kind::Min, b, a) : composite(Kind::Min, a, b);
}

SizeExpr SizeTable::max(const SizeExpr &a, const SizeExpr &b) {
  if (isAtLeast(a, b))
    return a;
  if (isAtLeast(b, a))
    return b;
  return b.terms < a.terms ? composite(Kind::Max, b, a) : composite(Kind::Max, a, b);
}

SizeExpr SizeTable::floorDiv(const SizeExpr &a, const SizeExpr &b) {
  if (std::optional<SizeExpr> exact = a.dividedBy(b))
    return *exact;
  std::optional<int64_t> divisor = b.getConstant();
  if (divisor && *divisor > 0) {
    // Terms that the divisor divides leave the quotient.
    SizeExpr whole, rest;
    for (const auto &[factors, coefficient] : a.terms)
      (coefficient % *divisor ? rest : whole).terms[factors] = coefficient;
    SizeExpr quotient = *whole.dividedBy(b);
    if (std::optional<int64_t> constant = rest.getConstant())
      return quotient + SizeExpr(divideFloorSigned(*constant, *divisor));
    if (!whole.terms.empty() && all_of(rest.terms, [](const auto &term) { return term.second > 0; }))
      return quotient + floorDiv(rest, b);
  }
  return composite(Kind::Quotient, a, b);
}

bool SizeTable::hasVariables(const SizeExpr &expr) const {
  return any_of(expr.terms, [&](const auto &term) {
    return any_of(term.first, [&](unsigned number) { return isVariable(number); });
  });
}

bool SizeTable::isSumOfNonNegatives(const SizeExpr &expr) const {
  return all_of(expr.terms, [&](const auto &term) {
    return term.second > 0 && all_of(term.first, [&](unsigned number) { return symbols[number].isNonNegative; });
  });
}

bool SizeTable::isAtLeast(const SizeExpr &a, const SizeExpr &b) const {
  // The difference itself is a sum of what is not negative, or what is left of it beside one fact is.
  SizeExpr difference = a - b;
  if (isSumOfNonNegatives(difference) ||
      any_of(facts, [&](const SizeExpr &fact) { return isSumOfNonNegatives(difference - fact); }))
    return true;
  // rest >= x / c, rounded down, if rest * c + c - 1 >= x.
  for (const auto &[factors, coefficient] : difference.terms) {
    if (factors.size() != 1 || coefficient != -1)
      continue;
    const Symbol &symbol = symbols[factors.front()];
    std::optional<int64_t> divisor = symbol.kind == Kind::Quotient ? symbol.b.getConstant() : std::nullopt;
    if (!divisor || *divisor <= 0)
      continue;
    SizeExpr rest = difference + SizeExpr::symbol(factors.front());
    if (isAtLeast(rest * symbol.b + symbol.b - 1, symbol.a))
      return true;
    // Or rest has a quotient by the same divisor, of something that is at least x.
    for (const auto &[otherFactors, otherCoefficient] : rest.terms) {
      if (otherFactors.size() != 1 || otherCoefficient < 1)
        continue;
      const Symbol &other = symbols[otherFactors.front()];
      if (other.kind == Kind::Quotient && other.b == symbol.b && isAtLeast(other.a, symbol.a) &&
          isSumOfNonNegatives(rest - SizeExpr::symbol(otherFactors.front())))
        return true;
    }
  }
  return false;
}

void SizeTable::addFact(SizeExpr expr) {
  int64_t divisor = 0;
  for (const auto &[factors, coefficient] : expr.terms)
    divisor = std::gcd(divisor, coefficient);
  if (divisor > 1)
    for (auto &[factors, coefficient] : expr.terms)
      coefficient /= divisor;
  facts.push_back(std::move(expr));
}

SizeExpr SizeTable::min(std::vector<SizeExpr> exprs) {
  for (size_t i = 0; i < exprs.size();) {
    bool isNeverLeast = false;
    for (size_t j = 0; j < exprs.size() && !isNeverLeast; ++j)
      isNeverLeast = i != j && isAtLeast(exprs[i], exprs[j]);
    if (isNeverLeast)
      exprs.erase(exprs.begin() + i);
    else
      ++i;
  }
  SizeExpr result = exprs.front();
  for (const SizeExpr &expr : drop_begin(exprs))
    result = min(result, expr);
  return result;
}

bool SizeTable::mentions(const SizeExpr &expr, const std::vector<std::string> &names) const {
  return any_of(expr.terms, [&](const auto &term) {
    return any_of(term.first, [&](unsigned number) {
      const Symbol &symbol = symbols[number];
      return symbol.kind == Kind::Named ? is_contained(names, symbol.name)
                                        : mentions(symbol.a, names) || mentions(symbol.b, names);
    });
  });
}

std::optional<int64_t> SizeTable::evaluate(const SizeExpr &expr, const StringMap<int64_t> &sizes) const {
  int64_t sum = 0;
  for (const auto &[factors, coefficient] : expr.terms) {
    int64_t product = coefficient;
    for (unsigned number : factors) {
      const Symbol &symbol = symbols[number];
      std::optional<int64_t> value;
      if (symbol.kind == Kind::Named) {
        auto it = sizes.find(symbol.name);
        if (it != sizes.end())
          value = it->second;
      } else if (symbol.kind != Kind::Variable) {
        std::optional<int64_t> a = evaluate(symbol.a, sizes), b = evaluate(symbol.b, sizes);
        if (a && b && symbol.kind == Kind::Min)
          value = std::min(*a, *b);
        else if (a && b && symbol.kind == Kind::Max)
          value = std::max(*a, *b);
        else if (a && b && *b != 0)
          value = divideFloorSigned(*a, *b);
      }
      if (!value)
        return std::nullopt;
      product *= *value;
    }
    sum += product;
  }
  return sum;
}

std::string SizeTable::toString(const SizeExpr &expr) const {
  std::string text;
  auto append = [&](const std::vector<unsigned> &factors, int64_t coefficient) {
    if (!text.empty())
      text += coefficient < 0 ? " - " : " + ";
    else if (coefficient < 0)
      text += "-";
    std::string product;
    if (factors.empty() || std::abs(coefficient) != 1)
      product = std::to_string(std::abs(coefficient));
    for (unsigned number : factors) {
      const Symbol &symbol = symbols[number];
      std::string factor = symbol.name;
      if (symbol.kind == Kind::Min || symbol.kind == Kind::Max)
        factor = (symbol.kind == Kind::Min ? "min(" : "max(") + toString(symbol.a) + ", " + toString(symbol.b) + ")";
      else if (symbol.kind == Kind::Quotient)
        factor = "((" + toString(symbol.a) + ") / " + (symbol.b.getConstant() ? "" : "(") + toString(symbol.b) +
                 (symbol.b.getConstant() ? ")" : "))");
      product += (product.empty() ? "" : "*") + factor;
    }
    text += product;
  };
  for (const auto &[factors, coefficient] : expr.terms)
    if (!factors.empty())
      append(factors, coefficient);
  if (auto constant = expr.terms.find({}); constant != expr.terms.end())
    append({}, constant->second);
  return text.empty() ? "0" : text;
}

std::vector<std::string> SizeTable::names() const {
  std::vector<std::string> result;
  for (const Symbol &symbol : symbols)
    if (symbol.kind == Kind::Named)
      result.push_back(symbol.name);
  return result;
}
