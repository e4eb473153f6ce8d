//===- Program.cpp - what the runtime asks of a program's description ---------------------------------------------===//

#include "core/Program.h"

#include <algorithm>
#include <limits>

namespace moert {

const char *dtypeName(int32_t dtype) {
  static const char *const names[] = {"f32", "bf16", "f16", "f64", "i64", "i32", "i16", "i8", "u8", "bool"};
  return dtype >= 0 && dtype <= MOERT_BOOL ? names[dtype] : "?";
}

/// " (11 to 64)" behind the name of a size that may not be any.
static std::string describeRange(const moert_value &value, int32_t dim) {
  if (!value.dim_ranges)
    return "";
  const auto least = static_cast<long long>(value.dim_ranges[2 * dim]);
  const auto most = static_cast<long long>(value.dim_ranges[2 * dim + 1]);
  if (most == std::numeric_limits<int64_t>::max())
    return least > 0 ? format(" (at least %lld)", least) : "";
  return least > 0 ? format(" (%lld to %lld)", least, most) : format(" (at most %lld)", most);
}

std::string describe(const moert_program &program, const moert_value &value) {
  std::string text;
  for (int32_t i = 0; i < value.rank; ++i) {
    int64_t size = value.sizes[i];
    if (size >= 0)
      text += format("%lld x ", static_cast<long long>(size));
    else
      text += printable(program.symbols[-(size + 1)]) + describeRange(value, i) + " x ";
  }
  return text + dtypeName(value.dtype);
}

static Status invalid(const moert_program &program, const char *what) {
  return failure(kInternal, "the compiled program '%s' is invalid: %s", program.name ? program.name : "?", what);
}

static bool validValue(const moert_program &program, const moert_value &value) {
  if (!value.name || dtypeSize(value.dtype) == 0 || value.rank < 0 || value.rank > MOERT_MAX_RANK)
    return false;
  for (int32_t i = 0; i < value.rank; ++i)
    if (value.sizes[i] < -static_cast<int64_t>(program.symbol_count))
      return false;
  uint32_t axes = axesOf(program, value);
  if ((axes & ~program.variant_axes) != 0 || (axes && value.rank == 0))
    return false;
  int64_t ranks = 1;
  for (int32_t a = 0; a < program.axis_count; ++a)
    ranks *= axes >> a & 1 ? program.axes[a].ranks : 1;
  if (value.rank > 0 && value.sizes[0] > 0 && value.sizes[0] % ranks != 0)
    return false;
  return value.symbol < program.symbol_count && value.index_of >= 0 && value.index_of <= program.symbol_count;
}

int64_t partsOf(const moert_program &program, const moert_parameter_desc &parameter) {
  int64_t parts = 1;
  for (int32_t d = 0; d < MOERT_DIVIDED_DIMS; ++d)
    if (int32_t axis = axisOf(program, parameter, d); axis >= 0)
      parts *= program.axes[axis].ranks;
  return parts;
}

ParameterPart partOf(const moert_program &program, const moert_parameter_desc &parameter, int64_t rank) {
  auto numberOn = [&](int32_t axis) {
    return static_cast<uint64_t>(rank / program.axes[axis].stride % program.axes[axis].ranks);
  };
  ParameterPart part;
  tensorBytes(parameter.dtype, parameter.rank, parameter.sizes, part.bytes);
  part.bytes /= static_cast<uint64_t>(partsOf(program, parameter));
  uint64_t number = 0;
  for (int32_t d = 0; d < MOERT_DIVIDED_DIMS; ++d)
    if (int32_t axis = axisOf(program, parameter, d); axis >= 0)
      number = number * static_cast<uint64_t>(program.axes[axis].ranks) + numberOn(axis);
  part.begin = part.bytes * number;
  if (int32_t axis = sliceAxisOf(program, parameter); axis >= 0) {
    uint64_t skipped = numberOn(axis) * static_cast<uint64_t>(parameter.slice_step) * dtypeSize(parameter.dtype);
    part.begin += skipped;
    part.bytes -= skipped;
  }
  return part;
}

std::vector<ParameterPart> unite(std::vector<ParameterPart> parts) {
  std::sort(parts.begin(), parts.end(),
            [](const ParameterPart &one, const ParameterPart &other) { return one.begin < other.begin; });
  std::vector<ParameterPart> pieces;
  for (const ParameterPart &part : parts) {
    if (pieces.empty() || part.begin > pieces.back().begin + pieces.back().bytes) {
      pieces.push_back(part);
      continue;
    }
    ParameterPart &last = pieces.back();
    last.bytes = std::max(last.begin + last.bytes, part.begin + part.bytes) - last.begin;
  }
  return pieces;
}

/// Parts must be of equal size, and each of them one piece.
static bool validParts(const moert_program &program, const moert_parameter_desc &parameter) {
  uint32_t seen = 0;
  for (int32_t d = 0; d < MOERT_DIVIDED_DIMS; ++d) {
    int32_t axis = axisOf(program, parameter, d);
    if (axis == -1)
      continue;
    if (axis < -1 || axis >= program.axis_count || d >= parameter.rank || seen >> axis & 1 ||
        parameter.sizes[d] % program.axes[axis].ranks != 0)
      return false;
    seen |= 1u << axis;
    int32_t before = d ? axisOf(program, parameter, d - 1) : -1;
    if (d && parameter.sizes[d - 1] != (before >= 0 ? program.axes[before].ranks : 1))
      return false;
  }
  int32_t slices = sliceAxisOf(program, parameter);
  if (slices == -1)
    return true;
  uint64_t bytes = 0;
  if (slices < -1 || slices >= program.axis_count || seen >> slices & 1 || parameter.slice_step < 1 ||
      !tensorBytes(parameter.dtype, parameter.rank, parameter.sizes, bytes))
    return false;
  uint64_t elements = bytes / dtypeSize(parameter.dtype) / static_cast<uint64_t>(partsOf(program, parameter));
  return static_cast<uint64_t>(parameter.slice_step) <= elements / static_cast<uint64_t>(program.axes[slices].ranks);
}

/// Of the axes of a program the last one varies fastest in the number of a rank; those of its variants are others.
static bool validAxes(const moert_program &program) {
  int64_t ranks = 1;
  if (program.axis_count > MOERT_MAX_AXES || program.variant_axes >> program.axis_count != 0)
    return false;
  for (int32_t a = program.axis_count; a-- > 0;) {
    const moert_axis &axis = program.axes[a];
    if (!axis.name || axis.ranks < 1 || axis.stride < 1)
      return false;
    if (!(program.variant_axes >> a & 1))
      continue;
    if (axis.stride != ranks || axis.ranks > (1 << 16) / ranks)
      return false;
    ranks *= axis.ranks;
  }
  // The job of a program has all axes, also those of its variants.
  for (int32_t a = 0; a < program.axis_count; ++a)
    if (int64_t(program.axes[a].ranks) * program.axes[a].stride > ranks)
      return false;
  for (int32_t i = 0; i < program.parameter_count; ++i)
    if (!validParts(program, program.parameters[i]))
      return false;
  return true;
}

/// Symbols get their values from inputs: hidden states, which are allocated before the program runs, may use no others.
/// (A symbol that only outputs have is a size that the program itself finds out.)
static bool stateSymbolsHaveInputs(const moert_program &program) {
  auto anInputHas = [&](int64_t size) {
    for (int32_t i = 0; i < program.input_count; ++i)
      for (int32_t d = 0; d < program.inputs[i].rank; ++d)
        if (program.inputs[i].sizes[d] == size)
          return true;
    return false;
  };
  for (int32_t i = 0; i < program.state_count; ++i)
    for (int32_t d = 0; d < program.states[i].rank; ++d)
      if (program.states[i].sizes[d] < 0 && !anInputHas(program.states[i].sizes[d]))
        return false;
  return true;
}

static bool validGeneration(const moert_program &program, const moert_generation &generation) {
  auto input = [&](int32_t index, int32_t rank) {
    return index >= 0 && index < program.input_count && program.inputs[index].rank == rank &&
           program.inputs[index].dtype == MOERT_I64;
  };
  if (!input(generation.tokens, 2) || !input(generation.position, 1) ||
      (generation.keep != -1 && !input(generation.keep, 1)))
    return false;
  // Exactly these inputs: there is nobody else to fill another one.
  if (program.input_count != 2 + (generation.keep != -1))
    return false;
  if (generation.logits < 0 || generation.logits >= program.output_count)
    return false;
  const moert_value &logits = program.outputs[generation.logits];
  bool type =
      logits.dtype == MOERT_F32 || logits.dtype == MOERT_BF16 || logits.dtype == MOERT_F16 || logits.dtype == MOERT_F64;
  return type && logits.rank == 3 && logits.sizes[2] == generation.vocab_size && generation.vocab_size > 0 &&
         generation.cache_length > 0 && generation.eos_count >= 0 && (generation.eos_count == 0 || generation.eos);
}

Status validateProgram(const moert_program &program) {
  if (program.abi_version != MOERT_ABI_VERSION)
    return failure(kInternal, "the program was compiled for runtime ABI %u, this runtime has ABI %u",
                   program.abi_version, MOERT_ABI_VERSION);
  if (!program.name || !program.entry || !program.build_id || !program.weights_id ||
      std::strlen(program.build_id) != sizeof(ArchiveHeader::weights_id) ||
      std::strlen(program.weights_id) != sizeof(ArchiveHeader::weights_id) || !program.compiler || !program.target_cpu ||
      !program.features || !program.weights || !program.run)
    return invalid(program, "a field is missing");
  if (program.input_count < 0 || program.output_count < 0 || program.state_count < 0 || program.parameter_count < 0 ||
      program.symbol_count < 0 || program.kernel_count < 0 || program.axis_count < 0)
    return invalid(program, "a count is negative");
  if (!validAxes(program))
    return invalid(program, "its axes, or a parameter that is divided by them");
  for (int32_t i = 0; i < program.input_count; ++i)
    if (!validValue(program, program.inputs[i]))
      return invalid(program, "the type of an input");
  for (int32_t i = 0; i < program.output_count; ++i)
    if (!validValue(program, program.outputs[i]))
      return invalid(program, "the type of an output");
  for (int32_t i = 0; i < program.state_count; ++i)
    if (!validValue(program, program.states[i]))
      return invalid(program, "the type of a state");
  if (!stateSymbolsHaveInputs(program))
    return invalid(program, "a state's size that no input has");
  if (program.generation && !validGeneration(program, *program.generation))
    return invalid(program, "its generation info");
  return {};
}

Status resolveParameters(const moert_program &program, const Archive &archive, std::vector<const void *> &data) {
  data.resize(static_cast<size_t>(program.parameter_count));
  for (int32_t i = 0; i < program.parameter_count; ++i) {
    const moert_parameter_desc &wanted = program.parameters[i];
    const ArchiveEntry *entry = archive.find(wanted.key);
    if (!entry)
      return failure(kUserError, "the weights have no entry '%s'", wanted.key);
    bool same = entry->dtype == wanted.dtype && entry->rank == wanted.rank;
    for (int32_t d = 0; same && d < wanted.rank; ++d)
      same = entry->sizes[d] == wanted.sizes[d];
    if (!same)
      return failure(kUserError, "the weights' entry '%s' has another type than the program expects", wanted.key);
    data[static_cast<size_t>(i)] = archive.data(*entry);
  }
  return {};
}

Status kernelNumber(const moert_program &program, const moert_kernel *kernel, int32_t &number) {
  const auto offset = reinterpret_cast<uintptr_t>(kernel) - reinterpret_cast<uintptr_t>(program.kernels);
  if (offset % sizeof *kernel || offset / sizeof *kernel >= static_cast<size_t>(program.kernel_count))
    return failure(kInternal, "kernel '%s' is not in the program's table", kernel->name);
  number = static_cast<int32_t>(offset / sizeof *kernel);
  return {};
}

} // namespace moert
