//===- Parameters.cpp - the weights that a program sees -----------------------------------------------------------===//

#include "core/Parameters.h"

#include "comm/Job.h"
#include "core/RandomWeights.h"

#include <algorithm>

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

Parameters::Part Parameters::part(int32_t index) const {
  const moert_parameter_desc &wanted = program->parameters[index];
  Part result;
  tensorBytes(wanted.dtype, wanted.rank, wanted.sizes, result.whole);
  result.bytes = result.whole;
  if (!job)
    return result;
  result.bytes /= static_cast<uint64_t>(partsOf(*program, wanted));
  uint64_t number = 0;
  for (int32_t d = 0; d < MOERT_DIVIDED_DIMS; ++d)
    if (int32_t axis = axisOf(*program, wanted, d); axis >= 0) {
      const Group &ranks = job->axis(axis);
      number = number * static_cast<uint64_t>(ranks.ranks()) + static_cast<uint64_t>(ranks.rank());
    }
  result.begin = result.bytes * number;
  // A slice with gaps: from its beginning on, to the end of what it is a slice of.
  if (int32_t axis = sliceAxisOf(*program, wanted); axis >= 0) {
    uint64_t skipped = static_cast<uint64_t>(job->axis(axis).rank()) * static_cast<uint64_t>(wanted.slice_step) *
                       dtypeSize(wanted.dtype);
    result.begin += skipped;
    result.bytes -= skipped;
  }
  return result;
}

/// Whether another description of the same entry reads what lies outside of this part.
bool Parameters::readsMore(size_t at, const Part &own) const {
  for (size_t other = 0; other < mapped.size(); ++other) {
    if (mapped[other] != mapped[at])
      continue;
    Part part = this->part(static_cast<int32_t>(other));
    if (part.begin < own.begin || part.begin + part.bytes > own.begin + own.bytes)
      return true;
  }
  return false;
}

Status Parameters::takeParts(Archive &archive) {
  made.resize(mapped.size());
  for (int32_t i = 0; i < program->parameter_count; ++i) {
    auto at = static_cast<size_t>(i);
    auto *whole = static_cast<const char *>(mapped[at]);
    Part own = part(i);
    if (own.bytes == own.whole)
      continue;
    views[at] = whole + own.begin;
    // Kernels count on it; parts of packed weights are aligned as they are.
    if (own.begin % kArchiveAlignment != 0) {
      if (!made[at].reserve(own.bytes))
        return outOfMemory(i, own.bytes);
      std::memcpy(made[at].data(), views[at], own.bytes);
      views[at] = made[at].data();
    }
    // An entry may be the parameter of several descriptions, as variants divide it in several ways.
    if (readsMore(at, own))
      continue;
    archive.release(whole, own.begin);
    archive.release(whole + own.begin + own.bytes, own.whole - own.begin - own.bytes);
  }
  return {};
}

Status Parameters::outOfMemory(int32_t index, uint64_t bytes) const {
  return failure(kUserError, "out of memory: parameter '%s' needs %llu bytes", program->parameters[index].key,
                 static_cast<unsigned long long>(bytes));
}

Status Parameters::fetch(int32_t index) {
  const moert_parameter_desc &wanted = program->parameters[index];
  auto at = static_cast<size_t>(index);
  Part own = part(index);
  uint64_t bytes = own.bytes;
  Memory passing;
  Memory &memory = device ? passing : made[at];
  const void *data = seed ? nullptr : mapped[at];
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
