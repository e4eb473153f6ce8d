//===- GlobalMemory.h - global memory, and who wrote what ---------------------------------------------------------===//
#ifndef MOE_EMULATION_GLOBALMEMORY_H
#define MOE_EMULATION_GLOBALMEMORY_H

#include "Machine.h"

#include <memory>
#include <string>

namespace moe::emulation {

/// At each launch: what the launches before have written is visible to all.
void forgetGlobalAccesses();

/// While it lives, nothing is registered: what was comes back with its end.
class MemoryKept {
public:
  MemoryKept();
  ~MemoryKept();

private:
  struct Globals;
  std::unique_ptr<Globals> globals;
};

/// "flag 5 of chunks came of rank 0": an element of 4 bytes, by its buffer.
std::string nameOfFlag(const uint32_t *flag);

/// TMA reads these bytes of row `row` of a tensor on behalf of the calling thread.
void checkTileSource(const void *p, size_t bytes, int row, Where where);
/// A TMA store of the calling thread will write these bytes; `slot` and `epoch` stand for its completion.
void markTileTarget(const void *p, size_t bytes, int slot, uint32_t epoch, Where where);

} // namespace moe::emulation

#endif
