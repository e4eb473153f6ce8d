//===- GuardSizes.cpp - which expressions of guards are sizes of the graph ----------------------------------------===//

#include "GuardSizes.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

/// Of a tensor of PyTorch.
static constexpr size_t kMaxRank = 64;

std::optional<std::vector<GuardTerm>> moe_mlir::pt2::readSizes(const JsonObject &values, StringRef name) {
  const JsonObject *meta = values.getObject(name);
  const JsonArray *sizes = meta ? meta->getArray("sizes") : nullptr;
  if (!sizes)
    return std::nullopt;
  std::vector<GuardTerm> terms;
  for (const JsonValue &size : *sizes) {
    const JsonObject *object = size.getAsObject();
    const JsonObject *expression = object ? object->getObject("as_expr") : nullptr;
    if (std::optional<int64_t> number = object ? object->getInteger("as_int") : std::nullopt)
      terms.push_back({GuardTerm::Number, *number, 0, "", {}});
    else if (std::optional<GuardTerm> term =
                 expression ? parseSizeExpression(expression->getString("expr_str").value_or("")) : std::nullopt)
      terms.push_back(std::move(*term));
    else
      return std::nullopt;
  }
  return terms;
}

/// Calls `visit` for each symbol of a term.
static void forEachSymbol(const GuardTerm &term, llvm::function_ref<void(StringRef)> visit) {
  if (term.kind == GuardTerm::Symbol)
    visit(term.input);
  for (const GuardTerm &operand : term.operands)
    forEachSymbol(operand, visit);
}

/// Of a size that only the running program knows, or behind a division by 0: no number, which is like nothing else.
static bool areNumbers(ArrayRef<double> values) {
  return none_of(values, [](double value) { return std::isnan(value); });
}

bool moe_mlir::pt2::areSame(const GuardTerm &one, const GuardTerm &other) {
  SampleDraws draws;
  draws.addNumbersOf(one);
  draws.addNumbersOf(other);
  for (int i = 0; i < 32; ++i) {
    draws.beginSample();
    SizeSample sample;
    auto value = [&](const GuardTerm &term) {
      auto [entry, isNew] = sample.try_emplace(term.input, 0);
      if (isNew)
        entry->second = draws.draw();
      return entry->second;
    };
    const double left = evaluate(one, value), right = evaluate(other, value);
    if (!(left == right))
      return false;
  }
  return true;
}

GuardSizes::GuardSizes(const JsonObject &values, const llvm::StringSet<> &inputs, ArrayRef<GuardTerm> guards) {
  for (const auto &input : inputs)
    if (std::optional<std::vector<GuardTerm>> terms = readSizes(values, input.getKey()))
      inputSizes[input.getKey()] = std::move(*terms);
  findSamples(guards);
  if (samples.empty())
    return;
  for (const JsonMember &member : values) {
    std::optional<std::vector<GuardTerm>> terms = readSizes(values, member.first);
    if (!terms || terms->size() > kMaxRank)
      continue;
    for (size_t first = 0; first < terms->size(); ++first) {
      Values product(samples.size(), 1);
      for (size_t last = first; last < terms->size(); ++last) {
        const Values size = valuesOf((*terms)[last]);
        for (auto [one, other] : zip(product, size))
          one *= other;
        if (inputs.contains(member.first) && (*terms)[last].kind == GuardTerm::Symbol)
          inputValues.insert(size);
        if (!areNumbers(product))
          continue;
        Product factors(terms->begin() + first, terms->begin() + last + 1);
        std::vector<Product> &known = sizes[product];
        if (!is_contained(known, factors))
          known.push_back(std::move(factors));
      }
    }
  }
}

bool moe_mlir::pt2::isNeitherZeroNorOne(const GuardTerm &guard) {
  if (!guard.isComparison())
    return false;
  const GuardTerm &bound = guard.operands[1];
  return (guard.kind == GuardTerm::Ne && (bound.isNumber(0) || bound.isNumber(1))) ||
         (guard.kind == GuardTerm::Ge && bound.isNumber(2)) || (guard.kind == GuardTerm::Gt && bound.isNumber(1));
}

/// At most 64 for which all guards hold, and of each guard at most 8 for which it does not. None of more symbols than a
/// model has.
void GuardSizes::findSamples(ArrayRef<GuardTerm> guards) {
  constexpr size_t kWanted = 64, kViolations = 8, kLeast = 3, kWork = 20'000'000, kSymbols = 1000;
  std::vector<std::string> names;
  llvm::StringSet<> known;
  SampleDraws draws;
  for (const auto &input : inputSizes)
    for (const GuardTerm &size : input.second) {
      forEachSymbol(size, [&](StringRef name) {
        if (known.insert(name).second)
          names.push_back(name.str());
      });
    }
  std::sort(names.begin(), names.end()); // not in the order of a hash table
  violations.resize(guards.size());
  if (names.size() > kSymbols)
    return;
  size_t terms = 1;
  for (const GuardTerm &guard : guards) {
    draws.addNumbersOf(guard);
    terms += guard.count();
  }
  const size_t tries = std::clamp<size_t>(kWork / terms, 500, 4000), most = 5 * tries;
  std::set<Values> found;
  for (size_t i = 0; i < most && (i < tries || samples.size() < kLeast); ++i) {
    SizeSample sample;
    Values drawn;
    draws.beginSample();
    for (const std::string &name : names)
      drawn.push_back(sample[name] = draws.draw());
    llvm::SmallVector<size_t> violated;
    bool holds = true;
    for (size_t guard = 0; holds && guard < guards.size(); ++guard)
      if (valueOf(guards[guard], sample) != 1) {
        violated.push_back(guard);
        holds = isNeitherZeroNorOne(guards[guard]);
      }
    if (!holds || !found.insert(drawn).second)
      continue;
    for (size_t guard : violated)
      if (violations[guard].size() < kViolations)
        violations[guard].push_back(sample);
    if (violated.empty() && samples.size() < kWanted)
      samples.push_back(std::move(sample));
  }
  if (samples.size() < kLeast) // anything could be the same
    samples.clear();
}

double GuardSizes::valueOf(const GuardTerm &term, const SizeSample &sample) const {
  return evaluate(term, [&](const GuardTerm &leaf) -> double {
    if (leaf.kind == GuardTerm::Symbol) {
      auto value = sample.find(leaf.input);
      return value == sample.end() ? NAN : value->second;
    }
    auto input = inputSizes.find(leaf.input);
    return input == inputSizes.end() || leaf.number >= static_cast<int64_t>(input->second.size())
               ? NAN
               : valueOf(input->second[leaf.number], sample);
  });
}

GuardSizes::Values GuardSizes::valuesOf(const GuardTerm &term) const {
  Values values;
  for (const SizeSample &sample : samples)
    values.push_back(valueOf(term, sample));
  return values;
}

bool GuardSizes::isOfGraph(const GuardTerm &term) const {
  if (samples.empty() || term.isReal())
    return false;
  const Values values = valuesOf(term);
  return areNumbers(values) && sizes.count(values) != 0;
}

bool GuardSizes::isOfGraph(const GuardTerm &term, size_t guard) const {
  if (!isOfGraph(term))
    return false;
  return any_of(sizes.find(valuesOf(term))->second, [&](const Product &product) {
    return all_of(violations[guard], [&](const SizeSample &sample) {
      double size = 1;
      for (const GuardTerm &factor : product)
        size *= valueOf(factor, sample);
      return valueOf(term, sample) == size;
    });
  });
}

bool GuardSizes::isComputed(const GuardTerm &term) const {
  if (!isOfGraph(term))
    return false;
  const Values values = valuesOf(term);
  return inputValues.count(values) == 0 &&
         any_of(values, [&](double value) { return value != values.front(); });
}
