//===- Select.h - which program of a file runs, and on what -------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_SELECT_H
#define MOERT_LIB_CORE_SELECT_H

#include "core/Status.h"
#include "moert/moert_model.h"

namespace moert {

/// "cpu" or "cuda".
const char *deviceName(int32_t device);

struct Selection {
  const moert_program *program = nullptr;
  int32_t ordinal = 0;     // of the GPU
  bool isNumbered = false; // whether it was said
};

/// Finds the program of `entry` for `device` ("cpu", "cuda", "cuda:N"). A null entry means the only one, a null device
/// the first that the entry was compiled for. The error lists what there is.
Status selectProgram(const moert_program_list &programs, const char *entry, const char *device, Selection &selection);

/// Names of the entries: "layer0_moe, layer1_moe".
std::string entryNames(const moert_program_list &programs);

} // namespace moert

#endif // MOERT_LIB_CORE_SELECT_H
