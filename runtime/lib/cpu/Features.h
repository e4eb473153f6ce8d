//===- Features.h - instruction sets of this machine --------------------------------------------------------------===//
#ifndef MOERT_LIB_CPU_FEATURES_H
#define MOERT_LIB_CPU_FEATURES_H

#include "core/Status.h"

namespace moert {

/// Checks that this CPU, with this operating system, has every instruction set of a comma-separated list (names as in
/// /proc/cpuinfo). The error names all that are missing: code 2.
Status checkFeatures(const char *features);

} // namespace moert

#endif // MOERT_LIB_CPU_FEATURES_H
