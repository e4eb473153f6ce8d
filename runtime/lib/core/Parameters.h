//===- Parameters.h - the weights that a program sees -------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_PARAMETERS_H
#define MOERT_LIB_CORE_PARAMETERS_H

#include "core/Device.h"
#include "core/Memory.h"
#include "core/Program.h"

namespace moert {

class Job;

/// Parameters are mapped from the archive, or made from a seed. What a device or a seed makes necessary is done when a
/// parameter is used for the first time, so that a session holds on the device only what its program touches.
class Parameters {
public:
  /// Looks all parameters up. `seed` is not zero: they are made from it, and the archive is not used. `job`: of a
  /// parameter that is divided this rank has its part alone, and what the archive holds of the others' is given back.
  Status open(const moert_program &program, Archive &archive, uint64_t seed, Device *device, Job *job);

  /// What the program sees of a parameter; null before fetch() if there is something to do.
  const void *view(int32_t index) const { return views[static_cast<size_t>(index)]; }
  Status fetch(int32_t index);

private:
  ParameterPart part(int32_t index) const;
  void releaseOthers(int32_t index, Archive &archive) const;
  Status takeParts(Archive &archive);
  Status outOfMemory(int32_t index, uint64_t bytes) const;

  const moert_program *program = nullptr;
  Job *job = nullptr;
  Device *device = nullptr;
  uint64_t seed = 0;
  std::vector<const void *> mapped, views;
  std::vector<Memory> made;         // on the CPU, from a seed, or parts that lie badly
  std::vector<DeviceBlock> uploads; // on a device
};

} // namespace moert

#endif // MOERT_LIB_CORE_PARAMETERS_H
