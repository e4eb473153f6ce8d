//===- UpList.cpp - tiles that wait for rows ----------------------------------------------------------------------===//

#include "Rank.h"

#include <algorithm>
#include <cmath>

using namespace moe_mlir;
using namespace moe_mlir::sim;

// Fractions of rows are compared with some room for rounding.
static constexpr double kRounding = 1e-9;

UpList sim::makeUpList(const Schedule &schedule, const Tiles &tiles, const std::vector<Arrival> &arrivals,
                       int64_t experts, double rowsPerSource, double pairs) {
  UpList list;
  list.experts = std::max<int64_t>(std::min(experts, int64_t(std::ceil(pairs))), 1);
  list.perExpert = tiles.rowTiles / list.experts;
  list.more = tiles.rowTiles % list.experts;
  const int64_t most = list.perExpert + (list.more > 0);
  const auto units = static_cast<int64_t>(arrivals.size());
  // Rows of an expert stand by source, and those of a source are spread evenly over what it sends. So a row tile has a
  // fraction of the rows of each source that it touches, and starts when the chunk with the last of them is there.
  const double tilesEach = std::max(pairs / double(list.experts) / double(tiles.rows), kRounding);
  const double chunk = std::min(1.0, double(schedule.chunk) / std::max(rowsPerSource, 1.0));
  for (int64_t i = 0; i < most; ++i) {
    const double from = std::min(double(i) / tilesEach, 1.0) * double(units);
    const double to = std::min(double(i + 1) / tilesEach, 1.0) * double(units);
    double ready = 0;
    for (auto unit = std::min(int64_t(from), units - 1); unit < units && double(unit) < to - kRounding; ++unit) {
      const double part = std::min(1.0, to - double(unit));
      const double fraction = std::min(1.0, std::ceil(part / chunk - kRounding) * chunk);
      const Arrival &arrival = arrivals[static_cast<size_t>(unit)];
      ready = std::max(ready, arrival.start + fraction * (arrival.end - arrival.start));
    }
    list.ready.push_back(ready);
  }
  // A step ends at a whole tile, so that steps add none; what is left over belongs to the next one.
  int64_t before = 0, sources = 0;
  for (int64_t step : schedule.steps) {
    sources += step;
    const double rows = double(sources) / double(units) * tilesEach + kRounding;
    const int64_t end = sources >= units ? most : std::min(most, int64_t(rows));
    if (end > before)
      list.ends.push_back(before = end);
  }
  if (before < most)
    list.ends.push_back(most);
  // The tiles of a record wait for all of its rows.
  const int64_t piece = std::max<int64_t>(schedule.piece / tiles.rows, 1);
  for (int64_t begin = 0, step = 0; begin < most;) {
    const int64_t end = std::min(begin + piece, list.ends[static_cast<size_t>(step)]);
    const auto first = list.ready.begin() + begin, last = list.ready.begin() + end;
    std::fill(first, last, *std::max_element(first, last));
    list.records += list.experts;
    begin = end;
    step += end == list.ends[static_cast<size_t>(step)];
  }
  return list;
}

double sim::runUpList(const UpList &list, int64_t columnTiles, int64_t blocks, double seconds, double start,
                      std::vector<double> *stepEnds) {
  std::vector<double> free(static_cast<size_t>(blocks), start);
  double last = start;
  size_t block = 0;
  int64_t begin = 0;
  for (int64_t end : list.ends) {
    for (int64_t column = 0; column < columnTiles; ++column)
      for (int64_t expert = 0; expert < list.experts; ++expert) {
        const int64_t tiles = std::min(end, list.perExpert + (expert < list.more));
        for (int64_t tile = begin; tile < tiles; ++tile) {
          double &time = free[block];
          time = std::max(time, list.ready[static_cast<size_t>(tile)]) + seconds;
          last = std::max(last, time);
          if (++block == free.size())
            block = 0;
        }
      }
    if (stepEnds)
      stepEnds->push_back(last);
    begin = end;
  }
  return last;
}
