//===- RandomCall.cpp - a call of the program on random inputs ----------------------------------------------------===//

#include "RandomCall.h"

#include "Modes.h"
#include "core/RandomWeights.h"
#include "core/Trace.h"

#include <algorithm>

namespace moert {

/// Sizes of symbols that inputs have; the others are the program's to find out.
Status RandomCall::bindSizes(const char *flag, const std::vector<NamedSize> &sizes) {
  symbols.assign(static_cast<size_t>(program.symbol_count), -1);
  for (const NamedSize &size : sizes) {
    auto named = [&](const char *name) { return size.name == name; };
    auto *end = program.symbols + program.symbol_count, *found = std::find_if(program.symbols, end, named);
    if (found == end)
      return failure(kUserError, "--size: the model has no size '%s' (--info shows the sizes)", size.name.c_str());
    symbols[static_cast<size_t>(found - program.symbols)] = size.value;
  }
  for (int32_t i = 0; i < program.input_count; ++i)
    for (int32_t d = 0; d < program.inputs[i].rank; ++d) {
      int64_t size = program.inputs[i].sizes[d];
      if (size < 0 && resolveSize(size, symbols) < 0)
        return failure(kUserError, "%s needs to know the size of '%s': give it by --size %s=N", flag,
                       program.symbols[-(size + 1)], program.symbols[-(size + 1)]);
    }
  return {};
}

void RandomCall::fillIntegers(const moert_value &value, Tensor &input) const {
  int64_t count = elementCount(input.rank, input.sizes), low = value.lo, high = value.hi;
  if (low > high)
    low = high = 0; // no bounds: nothing but zero is known to be legal
  else if (value.symbol >= 0)
    high = std::max(low, high + 1 - symbols[static_cast<size_t>(value.symbol)]);
  if (value.index_of > 0) { // without bounds zero is legal, if anything is
    const int64_t size = symbols[static_cast<size_t>(value.index_of - 1)];
    low = value.lo > value.hi ? 0 : std::max(low, -size);
    high = std::max(low, value.lo > value.hi ? size - 1 : std::min(high, size - 1));
  }
  for (int64_t i = 0; i < count; ++i) {
    Philox random(seed, static_cast<uint64_t>(value.uniform ? 0 : i), 2);
    int64_t element = low + static_cast<int64_t>(random.uniform() * (static_cast<double>(high - low) + 1));
    auto bytes = dtypeSize(value.dtype);
    // Little-endian: the low bytes of the number are the narrower number.
    std::memcpy(static_cast<char *>(input.data) + static_cast<uint64_t>(i) * bytes, &element, bytes);
  }
}

Status RandomCall::make(const char *flag, const std::vector<NamedSize> &sizes) {
  if (Status s = bindSizes(flag, sizes); s.failed())
    return s;
  inputs.resize(static_cast<size_t>(program.input_count));
  for (int32_t i = 0; i < program.input_count; ++i) {
    const moert_value &value = program.inputs[i];
    Tensor &input = inputs[static_cast<size_t>(i)];
    input.dtype = value.dtype;
    input.rank = value.rank;
    for (int32_t d = 0; d < value.rank; ++d)
      input.sizes[d] = resolveSize(value.sizes[d], symbols);
    uint64_t bytes = 0;
    if (!tensorBytes(value.dtype, value.rank, input.sizes, bytes) || !input.memory.reserve(bytes))
      return failure(kUserError, "out of memory: input '%s' is too large", value.name);
    input.data = input.memory.data();
    bool floating = value.dtype <= MOERT_F64;
    if (floating)
      fillRandom(seed, value.name, value.dtype, input.data, bytes);
    else
      fillIntegers(value, input);
  }
  return {};
}

Status RandomCall::run(int64_t &time) {
  moert_session_reset(session);
  int64_t begin = now();
  int32_t code = 0;
  for (size_t i = 0; i < inputs.size() && !code; ++i)
    code = moert_session_set_input(session, static_cast<int32_t>(i), inputs[i].dtype, inputs[i].rank, inputs[i].sizes,
                                   inputs[i].data);
  if (!code)
    code = moert_session_run(session);
  time = now() - begin;
  return sessionStatus(session, code);
}

} // namespace moert
