//===- Mapping.h - memory files, mapped once in a process ---------------------------------------------------------===//
//
// Ranks that are threads of one process see a window at one address, so that tools which follow addresses, as
// ThreadSanitizer does, follow what they exchange.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_COMM_MAPPING_H
#define MOERT_LIB_COMM_MAPPING_H

#include <cstddef>
#include <cstdint>

namespace moert {

/// Maps the memory file `fd`, whose inode is `file`, or finds where this process has it. Null if that fails.
char *mapShared(int fd, uint64_t file, size_t bytes);
/// Gives up what mapShared() returned.
void unmapShared(char *base);

} // namespace moert

#endif // MOERT_LIB_COMM_MAPPING_H
