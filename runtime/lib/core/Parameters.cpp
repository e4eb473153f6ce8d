//===- Parameters.cpp - the weights that a program sees -----------------------------------------------------------===//

#include "core/Parameters.h"

#include "comm/Job.h"
#include "core/RandomWeights.h"

#include <algorithm>
#include <cstring>

namespace moert {

Status Parameters::open(const moert_program &opened, Archive &archive, uint64_t newSeed, Device *newDevice,
                        Job *newJob) {
  program = &opened;
  job = newJob;
  seed = newSeed;
  device = newDevice;
  auto count = static_cast<size_t>(opened.parameter_count);
  if (!seed)
    if (Status s = resolveParameters(opened, archive, mapped); s.failed())
      return s;
  if (device)
    uploads.resize(count);
  else if (seed)
    made.resize(count);
  else
    views = mapped;
  views.resize(count);
  return job && !seed ? takeParts(archive) : Status();
}

ParameterPart Parameters::part(int32_t index) const {
  const moert_parameter_desc &wanted = program->parameters[index];
  if (job)
    return partOf(*program, wanted, job->rank());
  ParameterPart whole;
  tensorBytes(wanted.dtype, wanted.rank, wanted.sizes, whole.bytes);
  return whole;
}

Status Parameters::takeParts(Archive &archive) {
  made.resize(mapped.size());
  for (int32_t i = 0; i < program->parameter_count && !device; ++i) { // a device is given its part when it is asked for
    auto at = static_cast<size_t>(i);
    ParameterPart own = part(i);
    views[at] = static_cast<const char *>(mapped[at]) + own.begin;
    // Kernels count on it; parts of packed weights are aligned as they are.
    if (own.begin % kArchiveAlignment != 0) {
      if (!made[at].reserve(own.bytes))
        return outOfMemory(i, own.bytes);
      std::memcpy(made[at].data(), views[at], own.bytes);
      views[at] = made[at].data();
    }
  }
  for (int32_t i = 0; i < program->parameter_count; ++i)
    releaseOthers(i, archive);
  return {};
}

/// Gives back what no part of an entry holds: it may be the parameter of several descriptions, as variants divide it in
/// several ways.
void Parameters::releaseOthers(int32_t index, Archive &archive) const {
  const moert_parameter_desc &entry = program->parameters[index];
  auto isSame = [&](const moert_parameter_desc &other) { return !std::strcmp(other.key, entry.key); };
  if (std::any_of(program->parameters, &entry, isSame))
    return; // done with the first one
  std::vector<ParameterPart> parts;
  for (int32_t other = index; other < program->parameter_count; ++other)
    if (isSame(program->parameters[other]))
      parts.push_back(part(other));
  auto *whole = static_cast<const char *>(mapped[static_cast<size_t>(index)]);
  uint64_t end = 0, bytes = 0;
  for (const ParameterPart &piece : unite(std::move(parts))) {
    archive.release(whole + end, piece.begin - end);
    end = piece.begin + piece.bytes;
  }
  tensorBytes(entry.dtype, entry.rank, entry.sizes, bytes);
  archive.release(whole + end, bytes - end);
}

Status Parameters::outOfMemory(int32_t index, uint64_t bytes) const {
  return failure(kUserError, "out of memory: parameter '%s' needs %llu bytes", program->parameters[index].key,
                 static_cast<unsigned long long>(bytes));
}

Status Parameters::fetch(int32_t index) {
  const moert_parameter_desc &wanted = program->parameters[index];
  auto at = static_cast<size_t>(index);
  ParameterPart own = part(index);
  uint64_t bytes = own.bytes;
  Memory passing;
  Memory &memory = device ? passing : made[at];
  const void *data = seed ? nullptr : static_cast<const char *>(mapped[at]) + own.begin;
  if (seed) {
    if (!memory.reserve(bytes))
      return outOfMemory(index, bytes);
    fillRandom(seed, wanted.key, wanted.dtype, memory.data(), bytes, own.begin);
    data = memory.data();
  }
  if (device) {
    if (Status s = device->reserve(uploads[at], bytes, format("parameter '%s'", wanted.key).c_str()); s.failed())
      return s;
    Status s = device->upload(uploads[at].base, data, bytes);
    // What was made here goes away at the end of this function.
    if (!s.failed() && seed)
      s = device->finish();
    if (s.failed())
      return s;
    data = uploads[at].base;
  }
  views[at] = data;
  return {};
}

} // namespace moert
