//===- Mapping.h - memory that ranks share, once in a process -----------------------------------------------------===//
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
/// New memory of this process, and another user of it; false if nobody has it any more.
char *mapLocal(size_t bytes);
bool shareLocal(char *base);
/// Gives up what these functions returned or shared.
void unmapShared(char *base);

} // namespace moert

#endif // MOERT_LIB_COMM_MAPPING_H
