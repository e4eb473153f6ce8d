//===- TileLoad.cpp - TMA loads and the proxy fences --------------------------------------------------------------===//
//
// A load lands in two parts, each some time between its issue and the completion of the barrier.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "GlobalMemory.h"
#include "State.h"
#include "TensorMap.h"

#include <cstring>

namespace moe::emulation {

static void fence(bool global) {
  Thread &t = self();
  t.knowledge.asyncShared.join(t.knowledge.seen);
  if (global)
    t.knowledge.asyncGlobal.join(t.knowledge.seen);
  ++t.epoch; // later stores are not covered
  t.knowledge.seen.raise(t.block->id, t.slot, t.epoch);
}

void fenceProxyAsync() { fence(/*global=*/true); }
void fenceProxyAsyncShared() { fence(/*global=*/false); }

/// Rows [first, first + rows) of the box arrive, parts outside the tensor as zeros.
static void land(Block &block, const TensorMap &map, uint32_t to, Barrier &barrier, int x, int y, int first, int rows) {
  const uint32_t boxRow = map.rowOfBox();
  std::vector<unsigned char> box(size_t(boxRow) * rows, 0);
  map.insideRows(x, y, first, rows, [&](int row, uint32_t byte, uint32_t bytes) {
    memcpy(&box[size_t(row - first) * boxRow + byte], map.at(x, y, row, byte), bytes);
  });
  ++barrier.asyncEpoch;
  for (uint32_t i = 0; i < box.size(); i += 16) {
    const uint32_t a = map.swizzled(to + first * boxRow + i);
    memcpy(block.shared.at(a), &box[i], 16);
    Granule &granule = block.shared.granule(a);
    granule.loading = false;
    for (SharedWord &word : granule.words)
      word = {SharedWord::Async, int16_t(barrier.slot), barrier.asyncEpoch};
  }
  barrier.bytes -= int64_t(box.size());
  barrier.current.seen.raise(block.id, barrier.slot, barrier.asyncEpoch);
  barrier.current.asyncShared.raise(block.id, barrier.slot, barrier.asyncEpoch);
  if (barrier.bytes < 0)
    return fault("mbarrier " + hex(barrier.address) + ": TMA completed more bytes than were expected (" +
                     std::to_string(-barrier.bytes) + " too many)",
                 nullptr, nullptr);
  settle(barrier);
}

void loadTile2d(uint32_t to, const CUtensorMap *opaque, uint32_t barrierAddress, int x, int y, Where where) {
  maybeSwitch();
  Block &block = *self().block;
  const TensorMap map = readTensorMap(opaque, where);
  requireBox(map, to, "TMA load", where);
  Barrier &barrier = barrierAt(barrierAddress, where);
  if (!barrier.fenced)
    fail("mbarrier " + hex(barrierAddress) + " used by TMA without fence.mbarrier_init", where);
  OverwriteCheck check(true, where);
  for (uint32_t a = to; a < to + map.boxBytes(); a += 16)
    check(block.shared.granule(a), a);
  for (uint32_t a = to; a < to + map.boxBytes(); a += 16)
    block.shared.granule(a).loading = true;
  map.insideRows(x, y, 0, int(map.boxHeight), [&](int row, uint32_t byte, uint32_t bytes) {
    checkTileSource(map.at(x, y, row, byte), bytes, y + row, where);
  });
  ++machine->report.tileLoads;
  const int half = map.boxHeight >= 16 ? int(map.boxHeight) / 2 : int(map.boxHeight);
  for (int first = 0; first < int(map.boxHeight); first += half) {
    const int rows = std::min(half, int(map.boxHeight) - first);
    machine->later([=, &block, &barrier] { land(block, map, to, barrier, x, y, first, rows); });
  }
}

} // namespace moe::emulation
