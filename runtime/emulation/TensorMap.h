//===- TensorMap.h - tensor maps as the emulation encodes them ----------------------------------------------------===//
#ifndef MOE_EMULATION_TENSORMAP_H
#define MOE_EMULATION_TENSORMAP_H

#include "Machine.h"

#include <algorithm>

namespace moe::emulation {

/// Lies inside the opaque bytes of a CUtensorMap.
struct TensorMap {
  static constexpr uint64_t kMagic = 0x50414d524f534e45;
  uint64_t magic;
  unsigned char *base;
  uint64_t width, height, rowBytes; // elements, rows, bytes
  uint32_t boxWidth, boxHeight, elementBytes;
  uint32_t swizzle; // bytes, 0: none

  uint32_t rowOfBox() const { return boxWidth * elementBytes; }
  uint32_t boxBytes() const { return rowOfBox() * boxHeight; }
  /// A box in shared memory starts at a multiple of this.
  uint32_t alignment() const { return swizzle ? swizzle * 8 : 128; }
  /// Where byte `a` of a box lies in the shared window.
  uint32_t swizzled(uint32_t a) const { return swizzle ? a ^ ((a >> 7 & (swizzle / 16 - 1)) << 4) : a; }

  /// Calls visit(row, byte of the box row, bytes) for the part of each box row in [first, first + rows) inside the
  /// tensor.
  template <typename Visit> void insideRows(int x, int y, int first, int rows, Visit visit) const {
    const int64_t from = std::max<int64_t>(0, x), to = std::min<int64_t>(int64_t(x) + boxWidth, int64_t(width));
    for (int row = first; row < first + rows; ++row)
      if (from < to && int64_t(y) + row >= 0 && int64_t(y) + row < int64_t(height))
        visit(row, uint32_t(from - x) * elementBytes, uint32_t(to - from) * elementBytes);
  }
  unsigned char *at(int x, int y, int row, uint32_t byteOfRow) const {
    return base + (int64_t(y) + row) * int64_t(rowBytes) + int64_t(x) * elementBytes + byteOfRow;
  }
};

/// The map, if it is one and lies where the hardware can read it.
TensorMap readTensorMap(const CUtensorMap *map, Where where);
/// Checks the address and bounds of a box in shared memory.
void requireBox(const TensorMap &map, uint32_t address, const char *what, Where where);

} // namespace moe::emulation

#endif
