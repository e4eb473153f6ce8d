//===- TileStore.h - TMA stores -----------------------------------------------------------------------------------===//
#ifndef MOE_EMULATION_TILESTORE_H
#define MOE_EMULATION_TILESTORE_H

#include "Machine.h"

#include <vector>

namespace moe::emulation {

/// A store of a tile: it reads shared memory and, later, writes global memory.
struct TileStore {
  int issuer;     // thread
  uint32_t epoch; // on the clock slot of the issuer's stores
  Where where;
  bool read = false, written = false;
  uint32_t waitedEpoch = 0; // epoch of the issuer when it had waited for the read
};

/// The stores of a thread in the order of their groups.
struct StoreQueue {
  struct Group {
    std::vector<uint32_t> stores; // numbers in Block::stores
  };
  std::vector<Group> committed;
  Group open;
  size_t waitedRead = 0, waitedWritten = 0; // groups
  int slot = -1;                            // clock slot
  uint32_t epoch = 0;
};

} // namespace moe::emulation

#endif
