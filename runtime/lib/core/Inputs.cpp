//===- Inputs.cpp - checks of a call's inputs against the program -------------------------------------------------===//

#include "core/Inputs.h"

#include <algorithm>

namespace moert {

static std::string describe(int32_t dtype, int32_t rank, const int64_t *sizes) {
  std::string text;
  for (int32_t i = 0; i < rank; ++i)
    text += format("%lld x ", static_cast<long long>(sizes[i]));
  return text + dtypeName(dtype);
}

/// Whether the program takes it as the size of a dimension.
static bool isInRange(const moert_value &declared, int32_t dim, int64_t size) {
  const int64_t *range = declared.dim_ranges ? declared.dim_ranges + 2 * dim : nullptr;
  return !range || (size >= range[0] && size <= range[1]);
}

Status checkType(const moert_program &program, const moert_value &declared, int32_t dtype, int32_t rank,
                 const int64_t *sizes, bool isPart) {
  if (!sizes && rank > 0)
    return failure(kUserError, "input '%s' has no sizes, the program expects %s", declared.name,
                   describe(program, declared).c_str());
  bool same = dtype == declared.dtype && rank == declared.rank;
  for (int32_t i = 0; same && i < rank; ++i)
    same = sizes[i] >= 0 && (declared.sizes[i] < 0 || declared.sizes[i] == sizes[i]) &&
           ((isPart && i == 0) || isInRange(declared, i, sizes[i]));
  // Programs add sizes and multiply them by constants; of what has no elements no memory limits them.
  constexpr int64_t kMostElements = int64_t(1) << 47;
  uint64_t bytes;
  if (same && tensorBytes(dtype, rank, sizes, bytes) &&
      (bytes > 0 || std::all_of(sizes, sizes + rank, [](int64_t size) { return size <= kMostElements; })))
    return {};
  std::string given = rank >= 0 && rank <= MOERT_MAX_RANK ? describe(dtype, rank, sizes) : format("rank %d", rank);
  return failure(kUserError, "input '%s' is %s, the program expects %s", declared.name, given.c_str(),
                 describe(program, declared).c_str());
}

Status bindSizes(const moert_program &program, int32_t index, const Tensor &input, std::vector<int64_t> &symbols) {
  const moert_value &declared = program.inputs[index];
  for (int32_t d = 0; d < declared.rank; ++d) {
    if (declared.sizes[d] >= 0)
      continue;
    int64_t size = input.sizes[d];
    int64_t &symbol = symbols[static_cast<size_t>(-(declared.sizes[d] + 1))];
    if (symbol >= 0 && symbol != size)
      return failure(kUserError, "input '%s' has size %lld in dimension %d, but '%s' is %lld in an earlier input",
                     declared.name, static_cast<long long>(size), d, program.symbols[-(declared.sizes[d] + 1)],
                     static_cast<long long>(symbol));
    symbol = size;
  }
  return {};
}

/// Positions along a size.
template <typename T>
static Status checkPositions(const moert_value &declared, const char *name, int64_t size, const void *data,
                             int64_t count) {
  const T *values = static_cast<const T *>(data);
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = static_cast<int64_t>(values[i]);
    if (value >= size || value < -size)
      return failure(kUserError, "input '%s': element %lld is %lld, an index outside of %s = %lld", declared.name,
                     static_cast<long long>(i), static_cast<long long>(value), name, static_cast<long long>(size));
  }
  return {};
}

template <typename T>
static Status checkIntegers(const moert_value &declared, const char *symbolName, int64_t symbolSize, const void *data,
                            int64_t count) {
  const T *values = static_cast<const T *>(data);
  bool bounded = declared.lo <= declared.hi;
  for (int64_t i = 0; i < count; ++i) {
    int64_t value = static_cast<int64_t>(values[i]);
    if (bounded && value < declared.lo && declared.hi >= kUnbounded)
      return failure(kUserError, "input '%s': element %lld is %lld, less than %lld", declared.name,
                     static_cast<long long>(i), static_cast<long long>(value), static_cast<long long>(declared.lo));
    if (bounded && (value < declared.lo || value > declared.hi))
      return failure(kUserError, "input '%s': element %lld is %lld, outside %lld..%lld", declared.name,
                     static_cast<long long>(i), static_cast<long long>(value), static_cast<long long>(declared.lo),
                     static_cast<long long>(declared.hi));
    // value <= hi here, and sizes are far below 2^62: nothing overflows.
    if (bounded && declared.symbol >= 0 && value + symbolSize > declared.hi + 1)
      return failure(kUserError, "input '%s': element %lld is %lld; with %s = %lld it exceeds %lld", declared.name,
                     static_cast<long long>(i), static_cast<long long>(value), symbolName,
                     static_cast<long long>(symbolSize), static_cast<long long>(declared.hi + 1));
    if (declared.uniform && values[i] != values[0])
      return failure(kUserError, "input '%s': element %lld is %lld, but element 0 is %lld; they must be equal",
                     declared.name, static_cast<long long>(i), static_cast<long long>(value),
                     static_cast<long long>(values[0]));
  }
  return {};
}

/// Compiled code relies on it, as C does: what is computed from other bytes may be any number, an index too.
static Status checkBools(const moert_value &declared, const void *data, int64_t count) {
  const auto *bytes = static_cast<const uint8_t *>(data);
  const auto *wrong = std::find_if(bytes, bytes + count, [](uint8_t byte) { return byte > 1; });
  if (wrong == bytes + count)
    return {};
  return failure(kUserError, "input '%s': element %lld is the byte %d; a bool is 0 or 1", declared.name,
                 static_cast<long long>(wrong - bytes), *wrong);
}

Status checkElements(const moert_program &program, int32_t index, const Tensor &input,
                     const std::vector<int64_t> &symbols) {
  const moert_value &declared = program.inputs[index];
  int64_t count = 1;
  for (int32_t d = 0; d < declared.rank; ++d)
    count *= input.sizes[d];
  if (declared.dtype == MOERT_BOOL)
    if (Status s = checkBools(declared, input.data, count); s.failed())
      return s;
  const bool hasBounds = declared.lo <= declared.hi || declared.uniform, isIndex = declared.index_of > 0;
  if (!hasBounds && !isIndex)
    return {};
  auto sizeOf = [&](int32_t symbol) { return symbol >= 0 ? symbols[static_cast<size_t>(symbol)] : 0; };
  auto nameOf = [&](int32_t symbol) { return symbol >= 0 ? program.symbols[symbol] : ""; };
  auto check = [&](auto type) -> Status {
    using T = decltype(type);
    const int32_t along = declared.index_of - 1, plus = declared.symbol;
    if (isIndex)
      if (Status s = checkPositions<T>(declared, nameOf(along), sizeOf(along), input.data, count); s.failed())
        return s;
    return hasBounds ? checkIntegers<T>(declared, nameOf(plus), sizeOf(plus), input.data, count) : Status();
  };
  switch (declared.dtype) {
  case MOERT_I64:
    return check(int64_t());
  case MOERT_I32:
    return check(int32_t());
  case MOERT_I16:
    return check(int16_t());
  case MOERT_I8:
    return check(int8_t());
  case MOERT_U8:
  case MOERT_BOOL:
    return check(uint8_t());
  default:
    return {};
  }
}

} // namespace moert
