//===- Cubin.h - what an image of machine code says of itself -----------------------------------------------------===//
#ifndef MOERT_LAUNCHER_CUBIN_H
#define MOERT_LAUNCHER_CUBIN_H

#include <cstdint>

namespace moert {

/// Registers per thread of the one kernel in a cubin; -1 if the image does not say so.
int32_t cubinRegisters(const void *cubin, int64_t bytes);

} // namespace moert

#endif // MOERT_LAUNCHER_CUBIN_H
