//===- schedule.cuh - which tiles a block computes, and in which order --------------------------------------------===//
//
// Pure arithmetic, the same text for the GPU and for the emulation. Blocks take turns at the tiles of all records.
//
//===--------------------------------------------------------------------------------------------------------------===//
#pragma once

namespace moe {

/// The first tile of a record that is this block's turn, after `before` tiles of other records.
MOE_DEVICE constexpr int firstTile(int before, int block, int blocks) {
  return (block + blocks - before % blocks) % blocks;
}
MOE_DEVICE int firstTile(int before) { return firstTile(before, blockIndex(), blockCount()); }

/// A tile of a record: `row` counts tiles of rows, `column` blocks of columns.
struct TilePlace {
  int row, column;
};

/// Tile number `tile` of `rows` x `columns` tiles. Blocks that run at the same time share weights and rows in the L2
/// cache: up to 16 tiles of rows lie next to each other, then the next column of tiles follows.
MOE_DEVICE constexpr TilePlace tilePlace(int tile, int rows, int columns) {
  const int first = tile / (16 * columns) * 16, group = rows - first < 16 ? rows - first : 16;
  const int inGroup = tile - first * columns;
  return {first + inGroup % group, inGroup / group};
}

MOE_DEVICE constexpr int tileRow(int tile, int rows, int columns) { return tilePlace(tile, rows, columns).row; }
MOE_DEVICE constexpr int tileColumn(int tile, int rows, int columns) { return tilePlace(tile, rows, columns).column; }

} // namespace moe
