//===- ScheduleTest.cpp - which tiles a block computes ------------------------------------------------------------===//

#include "Launching.h"

#include <algorithm>
#include <set>

using namespace moe;

/// Every tile has one place, and every place one tile.
TEST(Schedule, PlacesAreAllTiles) {
  for (int rows : {1, 3, 16, 17, 40})
    for (int columns : {1, 2, 7}) {
      std::set<std::pair<int, int>> places;
      for (int tile = 0; tile < rows * columns; ++tile) {
        const TilePlace place = tilePlace(tile, rows, columns);
        EXPECT_TRUE(place.row >= 0 && place.row < rows && place.column >= 0 && place.column < columns);
        places.insert({place.row, place.column});
      }
      EXPECT_EQ(int(places.size()), rows * columns);
    }
}

/// Up to 16 tiles that follow each other share their weights.
TEST(Schedule, NeighboursShareColumns) {
  for (int tile = 0; tile < 16; ++tile)
    EXPECT_EQ(tilePlace(tile, 40, 3).column, 0);
  EXPECT_EQ(tilePlace(16, 40, 3).column, 1);
  EXPECT_EQ(tilePlace(16, 40, 3).row, 0);
  EXPECT_EQ(tilePlace(48, 40, 3).row, 16);
}

/// Over all records, the numbers of tiles of two blocks differ by one at most.
TEST(Schedule, BlocksTakeTurnsAcrossRecords) {
  const int records[] = {5, 1, 0, 12, 3, 2, 2, 7};
  for (int blocks : {1, 2, 3, 5}) {
    std::vector<int> tiles(blocks);
    EXPECT_CLEAN((Options{.blocks = blocks, .threads = 32, .residentBlocks = blocks}), [&] {
      int before = 0, mine = 0;
      for (int record : records) {
        for (int tile = firstTile(before); tile < record; tile += blockCount())
          ++mine;
        before += record;
      }
      tiles[blockIndex()] = mine;
    });
    EXPECT_LE(*std::max_element(tiles.begin(), tiles.end()) - *std::min_element(tiles.begin(), tiles.end()), 1);
  }
}
