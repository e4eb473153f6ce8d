//===- Info.cpp - what a program is -------------------------------------------------------------------------------===//

#include "Modes.h"
#include "comm/Job.h"
#include "core/Inputs.h"
#include "core/Program.h"
#include "core/Select.h"

#include <algorithm>
#include <cstring>

namespace moert {

static void list(std::string &text, const char *title, const moert_program &program, const moert_value *values,
                 int32_t count) {
  text += format("%s:\n", title);
  for (int32_t i = 0; i < count; ++i) {
    const moert_value &value = values[i];
    text += format("  %-24s %s", printable(value.name).c_str(), describe(program, value).c_str());
    if (value.lo <= value.hi && value.symbol >= 0)
      text += format(", %lld..%lld - %s", static_cast<long long>(value.lo), static_cast<long long>(value.hi + 1),
                     printable(program.symbols[value.symbol]).c_str());
    else if (value.lo <= value.hi && value.hi < kUnbounded)
      text += format(", %lld..%lld", static_cast<long long>(value.lo), static_cast<long long>(value.hi));
    else if (value.lo <= value.hi)
      text += format(", at least %lld", static_cast<long long>(value.lo));
    if (value.index_of > 0)
      text += format(", an index of %s", printable(program.symbols[value.index_of - 1]).c_str());
    const char *before = ", divided on ";
    for (int32_t axis = 0; axis < program.axis_count; ++axis)
      if (axesOf(program, value) >> axis & 1) {
        text += before + printable(program.axes[axis].name);
        before = " and ";
      }
    text += value.uniform ? ", all equal\n" : "\n";
  }
  if (count == 0)
    text += "  none\n";
}

/// What the states take together: a number of bytes for each size that only a call knows, such as its batch.
static std::string stateBytes(const moert_program &program) {
  std::vector<std::pair<std::string, uint64_t>> sums; // by the names of such sizes
  for (int32_t i = 0; i < program.state_count; ++i) {
    const moert_value &state = program.states[i];
    std::string names;
    int64_t sizes[MOERT_MAX_RANK];
    for (int32_t d = 0; d < state.rank; ++d) {
      const bool isKnown = state.sizes[d] >= 0;
      sizes[d] = isKnown ? state.sizes[d] : 1;
      names += isKnown ? "" : printable(program.symbols[-(state.sizes[d] + 1)]) + " x ";
    }
    auto sum = std::find_if(sums.begin(), sums.end(), [&](const auto &other) { return other.first == names; });
    if (sum == sums.end())
      sum = sums.insert(sum, {names, 0});
    uint64_t bytes = 0;
    if (!tensorBytes(state.dtype, state.rank, sizes, bytes) || bytes > (uint64_t(1) << 62) - sum->second)
      return "too many bytes";
    sum->second += bytes;
  }
  std::string text;
  for (const auto &[names, bytes] : sums)
    text += format("%s%s%llu bytes", text.empty() ? "" : " + ", names.c_str(), static_cast<unsigned long long>(bytes));
  return text;
}

/// Bytes of parameters that a rank maps: of one that variants divide in several ways, all that one of them reads.
static uint64_t ownBytes(const moert_program &program, int64_t rank) {
  uint64_t bytes = 0;
  for (int32_t i = 0; i < program.parameter_count; ++i) {
    const moert_parameter_desc &parameter = program.parameters[i];
    auto isSame = [&](const moert_parameter_desc &other) { return !std::strcmp(other.key, parameter.key); };
    if (std::any_of(program.parameters, &parameter, isSame))
      continue; // counted with the first one
    std::vector<ParameterPart> parts;
    for (int32_t other = i; other < program.parameter_count; ++other)
      if (isSame(program.parameters[other]))
        parts.push_back(partOf(program, program.parameters[other], rank));
    for (const ParameterPart &piece : unite(std::move(parts)))
      bytes += piece.bytes;
  }
  return bytes;
}

std::string variantTable(const moert_program_list &programs, const moert_program &program) {
  std::string text;
  int number = 0;
  for (int32_t i = 0; i < programs.count && program.variant; ++i)
    if (const moert_program &other = *programs.programs[i];
        !std::strcmp(other.entry, program.entry) && other.device == program.device)
      text += format("  %d  %-24s %s\n", number++, printable(other.variant).c_str(),
                     printable(axesText(other)).c_str());
  // One that is alone runs like a program without variants.
  return number < 2 ? "" : "variants:\n" + text;
}

std::string infoText(const moert_program &program, const std::string &weights) {
  std::string text =
      format("model:      %s\nentry:      %s\ndevice:     %s\ncompiler:   moe-compile %s\nbuild:      %s\n"
             "target cpu: %s\nfeatures:   %s\n",
             printable(program.name).c_str(), printable(program.entry).c_str(), deviceName(program.device),
             program.compiler, program.build_id, program.target_cpu, program.features);
  uint64_t bytes = 0;
  int32_t arrays = 0;
  for (int32_t i = 0; i < program.parameter_count; ++i) {
    uint64_t size = 0;
    const moert_parameter_desc &parameter = program.parameters[i];
    auto isPart = [&](const moert_parameter_desc &other) { return !std::strcmp(other.key, parameter.key); };
    if (std::any_of(program.parameters, &parameter, isPart))
      continue; // another part of the same
    tensorBytes(parameter.dtype, parameter.rank, parameter.sizes, size);
    ++arrays;
    bytes += size;
  }
  text += format("parameters: %d packed arrays, %llu bytes\n", arrays,
                 static_cast<unsigned long long>(bytes));
  if (program.axis_count) {
    int64_t ranks = rankCount(program);
    uint64_t least = UINT64_MAX, most = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      uint64_t own = ownBytes(program, rank);
      least = std::min(least, own);
      most = std::max(most, own);
    }
    text += format("ranks:      %lld (%s), each with %s%llu bytes of parameters\n", static_cast<long long>(ranks),
                   printable(axesText(program)).c_str(), least == most ? "" : "up to ",
                   static_cast<unsigned long long>(most));
  }
  const char *none = program.parameter_count ? "none; --random-weights makes them" : "none";
  text += format("weights:    %s\nkernels:    %d\n",
                 program.parameter_count && !weights.empty() ? printable(weights).c_str() : none, program.kernel_count);
  if (const moert_cuda_code *cuda = program.cuda) {
    int64_t codeBytes = 0;
    for (int32_t i = 0; i < cuda->image_count; ++i)
      codeBytes += cuda->images[i].cubin_bytes;
    text += format("code:       for %s, %d images, %lld bytes\n", cuda->arch, cuda->image_count,
                   static_cast<long long>(codeBytes));
  }
  list(text, "inputs", program, program.inputs, program.input_count);
  list(text, "outputs", program, program.outputs, program.output_count);
  list(text, "states (hidden, kept between calls)", program, program.states, program.state_count);
  if (program.state_count)
    text += format("  %-24s %s\n", "together", stateBytes(program).c_str());
  text += "generation:\n";
  const moert_generation *g = program.generation;
  if (!g)
    return text + "  none: " + whyNoText(program) + "\n";
  const char *kinds[] = {"not told (use --ids)", "bytes", "token ids (use --ids)"};
  text +=
      format("  vocabulary   %s, %lld tokens\n", kinds[g->vocabulary >= 0 && g->vocabulary <= 2 ? g->vocabulary : 0],
             static_cast<long long>(g->vocab_size));
  text += format("  cache        %lld tokens per row\n  end tokens  ", static_cast<long long>(g->cache_length));
  for (int32_t i = 0; i < g->eos_count; ++i)
    text += format(" %lld", static_cast<long long>(g->eos[i]));
  return text + (g->eos_count ? "\n" : " none\n");
}

std::string versionText(const moert_program &program) {
  return format("%s, build %s, compiled by moe-compile %s for %s, runtime ABI %u\n", printable(program.name).c_str(),
                program.build_id, program.compiler, program.target_cpu, MOERT_ABI_VERSION);
}

} // namespace moert
