//===- Select.cpp - which program of a file runs, and on what -----------------------------------------------------===//

#include "core/Select.h"

#include <cstring>

namespace moert {

const char *deviceName(int32_t device) { return device == MOERT_CUDA ? "cuda" : "cpu"; }

static Status parseDevice(const char *text, int32_t &kind, int32_t &ordinal) {
  if (std::strcmp(text, "cpu") == 0) {
    kind = MOERT_CPU;
    return {};
  }
  kind = MOERT_CUDA;
  if (std::strcmp(text, "cuda") == 0)
    return {};
  const char *digits = text + std::strlen("cuda:");
  size_t count = std::strncmp(text, "cuda:", std::strlen("cuda:")) == 0 ? std::strlen(digits) : 0;
  if (count == 0 || count > 4 || std::strspn(digits, "0123456789") != count)
    return failure(kUserError, "unknown device '%s' (known: cpu, cuda, cuda:N)", text);
  for (; *digits; ++digits)
    ordinal = ordinal * 10 + (*digits - '0');
  return {};
}

/// Programs of one entry stand together.
static bool startsEntry(const moert_program_list &programs, int32_t index) {
  return index == 0 || std::strcmp(programs.programs[index]->entry, programs.programs[index - 1]->entry) != 0;
}

std::string entryNames(const moert_program_list &programs) {
  std::string names;
  for (int32_t i = 0; i < programs.count; ++i)
    if (startsEntry(programs, i))
      names += format("%s%s", i ? ", " : "", programs.programs[i]->entry);
  return names;
}

static Status invalidList(const char *what) { return failure(kInternal, "the compiled program is invalid: %s", what); }

static Status checkAbi(uint32_t abi) {
  return abi == MOERT_ABI_VERSION
             ? Status{}
             : failure(kInternal, "the program was compiled for runtime ABI %u, this runtime has ABI %u", abi,
                       MOERT_ABI_VERSION);
}

static Status checkList(const moert_program_list &programs) {
  if (Status s = checkAbi(programs.abi_version); s.failed())
    return s;
  if (programs.count <= 0 || !programs.programs)
    return invalidList("it has no entry");
  for (int32_t i = 0; i < programs.count; ++i) {
    if (!programs.programs[i])
      return invalidList("an entry is missing");
    if (Status s = checkAbi(programs.programs[i]->abi_version); s.failed())
      return s;
    if (!programs.programs[i]->entry)
      return invalidList("an entry has no name");
  }
  return {};
}

Status selectProgram(const moert_program_list &programs, const char *entry, const char *device, Selection &selection) {
  if (Status s = checkList(programs); s.failed())
    return s;
  int32_t kind = -1;
  if (device)
    if (Status s = parseDevice(device, kind, selection.ordinal); s.failed())
      return s;
  selection.isNumbered = device && std::strchr(device, ':');
  if (!entry) {
    for (int32_t i = 1; i < programs.count; ++i)
      if (startsEntry(programs, i))
        return failure(kUserError, "the model has several entries: choose one of %s (--entry)",
                       entryNames(programs).c_str());
    entry = programs.programs[0]->entry;
  }
  std::string others;
  for (int32_t i = 0; i < programs.count; ++i) {
    const moert_program &program = *programs.programs[i];
    if (std::strcmp(program.entry, entry) != 0)
      continue;
    if (kind < 0 || program.device == kind) {
      selection.program = &program;
      return {};
    }
    others += format("%s%s", others.empty() ? "" : ", ", deviceName(program.device));
  }
  if (others.empty())
    return failure(kUserError, "the model has no entry '%s' (it has %s)", entry, entryNames(programs).c_str());
  return failure(kUserError, "'%s' was not compiled for %s (it was for %s)", entry, deviceName(kind), others.c_str());
}

} // namespace moert
