//===- Variants.cpp - several ways in which ranks run one entry ---------------------------------------------------===//

#include "core/Variants.h"

#include "comm/Job.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace moert {

static bool isSame(const char *one, const char *other) { return std::strcmp(one, other) == 0; }

/// All that a caller sees of them, and what states hold.
static bool areAlike(const moert_value *one, const moert_value *other, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    const moert_value &a = one[i], &b = other[i];
    if (!isSame(a.name, b.name) || a.dtype != b.dtype || a.rank != b.rank ||
        !std::equal(a.sizes, a.sizes + a.rank, b.sizes) || a.lo != b.lo || a.hi != b.hi || a.symbol != b.symbol ||
        a.uniform != b.uniform || a.index_of != b.index_of || !a.dim_ranges != !b.dim_ranges ||
        (a.dim_ranges && !std::equal(a.dim_ranges, a.dim_ranges + 2 * a.rank, b.dim_ranges)))
      return false;
  }
  return true;
}

static bool belongTogether(const moert_program &one, const moert_program &other) {
  return one.input_count == other.input_count && one.output_count == other.output_count &&
         one.state_count == other.state_count && one.symbol_count == other.symbol_count &&
         one.parameter_count == other.parameter_count && one.parameters == other.parameters &&
         one.axis_count == other.axis_count && one.axes == other.axes && rankCount(one) == rankCount(other) &&
         areAlike(one.inputs, other.inputs, one.input_count) &&
         areAlike(one.outputs, other.outputs, one.output_count) &&
         areAlike(one.states, other.states, one.state_count) &&
         std::equal(one.symbols, one.symbols + one.symbol_count, other.symbols, isSame);
}

Status Variants::open(const moert_program_list &list, const moert_program &program) {
  programs.clear();
  for (int32_t i = 0; i < list.count; ++i) {
    const moert_program &other = *list.programs[i];
    if (!isSame(other.entry, program.entry) || other.device != program.device)
      continue;
    if (Status s = validateProgram(other); s.failed())
      return s;
    programs.push_back(&other);
  }
  for (const moert_program *other : programs)
    if (programs.size() > 1 && (!other->variant || !other->axis_count || !belongTogether(*programs[0], *other)))
      return failure(kInternal, "the compiled program '%s' is invalid: its variants do not belong together",
                     program.name);
  return {};
}

std::string Variants::names() const {
  std::string text;
  for (int32_t i = 0; i < count(); ++i)
    text += format("%s'%s' (%d)", i ? ", " : "", printable(name(i)).c_str(), i);
  return text;
}

int32_t Variants::find(const std::string &wanted) const {
  for (int32_t i = 0; i < count(); ++i)
    if (wanted == name(i) || wanted == std::to_string(i))
      return i;
  return -1;
}

Status Variants::choose(const char *wanted) {
  if (count() == 1)
    return failure(kUserError, "there is no variant '%s': the model is compiled without variants",
                   printable(wanted).c_str());
  chosen = find(wanted);
  return chosen >= 0 ? Status()
                     : failure(kUserError, "there is no variant '%s'; there are %s", printable(wanted).c_str(),
                               names().c_str());
}

Status Variants::choose(int32_t number) {
  if (number >= count())
    return failure(kUserError, "there is no variant %d, the program has %d", number, count());
  chosen = number < 0 ? -1 : number;
  return {};
}

std::string tuningPath(const std::string &weights) {
  size_t slash = weights.rfind('/'), dot = weights.rfind('.');
  bool hasSuffix = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1) && dot > 0;
  return weights.empty() ? "" : weights.substr(0, hasSuffix ? dot : weights.size()) + ".tuning.json";
}

Status Variants::readTuning(const char *path, const std::string &weights, const moert_program &program) {
  std::string file = path ? path : tuningPath(weights);
  if (count() == 1)
    return path ? failure(kUserError, "'%s' chooses among variants, and the model is compiled without them", path)
                : Status();
  if (chosen >= 0 || file.empty())
    return {};
  if (Status s = tuning.read(file, /*mayBeMissing=*/!path); s.failed())
    return s;
  if (tuning.entries.empty())
    return {};
  if (tuning.program != program.build_id)
    return failure(kUserError, "'%s' is of another program than this one: measure again with --tune, or remove it",
                   file.c_str());
  for (const Tuning::Entry &entry : tuning.entries)
    for (const Tuning::Choice &choice : entry.choices)
      if (entry.name == program.entry && find(choice.variant) < 0)
        return failure(kUserError, "'%s' names variant '%s'; there are %s", file.c_str(), choice.variant.c_str(),
                       names().c_str());
  return {};
}

int64_t roomOf(const moert_program &program, const std::vector<Tensor> &inputs, int64_t ranks) {
  if (inputs.empty())
    return 0;
  int64_t tokens = 1;
  bool isOfTokens = program.inputs[0].dtype <= MOERT_F64; // then a token has a row
  // Rows without an element may be more than can be counted.
  for (int32_t d = 0; d < inputs[0].rank - isOfTokens; ++d)
    if (__builtin_mul_overflow(tokens, inputs[0].sizes[d], &tokens))
      return Tuning::kMaxRoom;
  return std::min(tokens / ranks + (tokens % ranks != 0), Tuning::kMaxRoom);
}

int32_t Variants::numberFor(const std::vector<Tensor> &inputs, int64_t ranks) const {
  if (chosen >= 0 || count() == 1)
    return std::max(chosen, 0);
  const moert_program &program = *programs[0];
  const std::string *wanted = tuning.find(program.entry, roomOf(program, inputs, ranks));
  return wanted ? find(*wanted) : 0;
}

static bool isWithin(const std::vector<int64_t> &one, const std::vector<int64_t> &other) {
  return std::equal(one.begin(), one.end(), other.begin(), std::less_equal<int64_t>());
}

bool Variants::isReserved(const std::vector<int64_t> &symbols) const {
  return std::any_of(reserved.begin(), reserved.end(), [&](const auto &sizes) { return isWithin(symbols, sizes); });
}

void Variants::setReserved(const std::vector<int64_t> &symbols) {
  auto isLess = [&](const auto &sizes) { return isWithin(sizes, symbols); };
  reserved.erase(std::remove_if(reserved.begin(), reserved.end(), isLess), reserved.end());
  reserved.push_back(symbols);
}

} // namespace moert
