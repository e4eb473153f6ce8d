//===- Parameters.cpp - the weights that a program sees -----------------------------------------------------------===//

#include "core/Parameters.h"

#include "core/RandomWeights.h"

namespace moert {

Status Parameters::open(const moert_program &opened, const Archive &archive, uint64_t newSeed, Device *newDevice) {
  program = &opened;
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
  return {};
}

Status Parameters::fetch(int32_t index) {
  const moert_parameter_desc &wanted = program->parameters[index];
  auto at = static_cast<size_t>(index);
  uint64_t bytes = 0;
  tensorBytes(wanted.dtype, wanted.rank, wanted.sizes, bytes);
  Memory passing;
  Memory &memory = device ? passing : made[at];
  const void *data = seed ? nullptr : mapped[at];
  if (seed) {
    if (!memory.reserve(bytes))
      return failure(kUserError, "out of memory: parameter '%s' needs %llu bytes", wanted.key,
                     static_cast<unsigned long long>(bytes));
    fillRandom(seed, wanted.key, wanted.dtype, memory.data(), bytes);
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
