//===- GuardSizes.cpp - which expressions of guards are sizes of the graph ----------------------------------------===//

#include "GuardSizes.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::pt2;

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

static std::mt19937 makeRandom() { return std::mt19937(1); } // the same program each time

bool moe_mlir::pt2::areSame(const GuardTerm &one, const GuardTerm &other) {
  std::mt19937 random = makeRandom();
  for (int i = 0; i < 8; ++i) {
    StringMap<double> symbols;
    auto value = [&](const GuardTerm &term) {
      auto [entry, isNew] = symbols.try_emplace(term.input, 0);
      if (isNew)
        entry->second = static_cast<double>(2 + random() % 1000);
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
  auto multiply = [](Values &product, const Values &factor) {
    for (auto [one, other] : zip(product, factor))
      one *= other;
  };
  for (const JsonMember &member : values) {
    std::optional<std::vector<GuardTerm>> terms = readSizes(values, member.first);
    for (size_t first = 0; terms && first < terms->size(); ++first) {
      Values product(samples.size(), 1);
      for (size_t last = first; last < terms->size(); ++last) {
        const Values size = valuesOf((*terms)[last]);
        multiply(product, size);
        if (areNumbers(product))
          sizes.insert(product);
        if (inputs.contains(member.first) && (*terms)[last].kind == GuardTerm::Symbol)
          inputValues.insert(size);
      }
    }
  }
}

/// At most eight, all different.
void GuardSizes::findSamples(ArrayRef<GuardTerm> guards) {
  std::vector<std::string> names;
  llvm::StringSet<> known;
  for (const auto &input : inputSizes)
    for (const GuardTerm &size : input.second)
      forEachSymbol(size, [&](StringRef name) {
        if (known.insert(name).second)
          names.push_back(name.str());
      });
  std::sort(names.begin(), names.end()); // not in the order of a hash table
  constexpr size_t kWanted = 8;
  constexpr int kTries = 20000;
  constexpr unsigned kRanges[] = {8, 40, 200, 2000};
  std::mt19937 random = makeRandom();
  std::set<Values> found;
  for (int i = 0; i < kTries && samples.size() < kWanted; ++i) {
    StringMap<double> sample;
    Values drawn;
    for (const std::string &name : names)
      drawn.push_back(sample[name] = static_cast<double>(2 + random() % kRanges[i % std::size(kRanges)]));
    samples.push_back(std::move(sample));
    const bool holds = all_of(guards, [&](const GuardTerm &guard) { return valueOf(guard, samples.size() - 1) == 1; });
    if (!holds || !found.insert(drawn).second)
      samples.pop_back();
  }
  if (samples.size() < 3) // anything could be the same
    samples.clear();
}

double GuardSizes::valueOf(const GuardTerm &term, size_t sample) const {
  return evaluate(term, [&](const GuardTerm &leaf) -> double {
    if (leaf.kind == GuardTerm::Symbol) {
      auto value = samples[sample].find(leaf.input);
      return value == samples[sample].end() ? NAN : value->second;
    }
    auto input = inputSizes.find(leaf.input);
    return input == inputSizes.end() || leaf.number >= static_cast<int64_t>(input->second.size())
               ? NAN
               : valueOf(input->second[leaf.number], sample);
  });
}

GuardSizes::Values GuardSizes::valuesOf(const GuardTerm &term) const {
  Values values;
  for (size_t sample = 0; sample < samples.size(); ++sample)
    values.push_back(valueOf(term, sample));
  return values;
}

bool GuardSizes::isOfGraph(const GuardTerm &term) const {
  if (samples.empty() || term.isReal())
    return false;
  const Values values = valuesOf(term);
  return areNumbers(values) && sizes.count(values) != 0;
}

bool GuardSizes::isComputed(const GuardTerm &term) const {
  if (!isOfGraph(term))
    return false;
  const Values values = valuesOf(term);
  return inputValues.count(values) == 0 &&
         any_of(values, [&](double value) { return value != values.front(); });
}
