//===- Simulate.cpp - a MoE layer on several ranks, in time -------------------------------------------------------===//
//
// A rank goes through: announce (who sends how much), up beside the arrival of rows, down beside the return of sums,
// collect. Blocks take their tiles in the order of the list, block b the tiles b, b + blocks, ..; a tile starts when
// its block is free and the rows of its record have come. Rows of the sources come one source after the other, own
// rows are there; every sender begins with another peer, so a rank gets from one at a time, at the rate of whichever
// is slower, the sender's way out or this rank's way in. Local and network links work side by side.
// Sums of a slice leave when its last tile is done. Once a block has multiplied its last tile, its multiprocessor is
// free for blocks that return: kernels have to have them behind those that multiply.
// Ranks of a CPU do the same, but for who works: CpuRank.cpp.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Rank.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

using namespace moe_mlir;
using namespace moe_mlir::sim;

Run sim::simulate(const Setup &setup, const Schedule &schedule, bool keepSpans) {
  const int64_t ranks = setup.cluster.ranks();
  // A rank behaves as its share of the pairs, and that of its node, say.
  std::map<std::pair<double, double>, int64_t> alike;
  for (int64_t rank = 0; rank < (setup.layer.share.empty() ? 1 : ranks); ++rank)
    alike.try_emplace(RankTraffic::sharesOf(setup, rank), rank);
  RankTraffic::Shared shared(setup);
  Run slowest;
  for (const auto &[shares, rank] : alike) {
    Run run = simulateRank(setup, schedule, RankTraffic(setup, shared, rank), nullptr);
    if (run.seconds > slowest.seconds) {
      slowest = run;
      slowest.rank = rank;
    }
  }
  if (keepSpans)
    simulateRank(setup, schedule, RankTraffic(setup, shared, slowest.rank), &slowest.spans);
  return slowest;
}

Summary sim::summarize(const Setup &setup, const Run &run) {
  const Run plain = simulate(setup, Schedule());
  Summary summary;
  summary.plain = plain.seconds;
  summary.up = plain.upBusy + plain.upCopies;
  summary.down = plain.downBusy + plain.downCopies;
  summary.out = plain.out.seconds;
  summary.back = plain.back.seconds;
  summary.bound = std::max(summary.up, summary.out) + std::max(summary.down, summary.back);
  const Tiles tiles = downTiles(setup, RankTraffic(setup, RankTraffic::Shared(setup), plain.rank));
  const double rounds = std::ceil(double(tiles.count()) / double(setup.cluster.workers()));
  const double beforeLast = 1 - 1 / std::max(rounds, 1.0);
  summary.hideable = std::min(summary.up, summary.out) + beforeLast * std::min(summary.down, summary.back);
  const double exposed = run.seconds - run.announced - setup.cluster.launch - summary.up - summary.down;
  const double legs = summary.out + summary.back;
  summary.hidden = std::min(std::max(legs - exposed, 0.0), legs);
  return summary;
}

int64_t sim::sourcesOf(const Setup &setup) { return setup.nested ? setup.cluster.ranksPerNode : setup.cluster.ranks(); }

int64_t sim::columnBlocks(const Setup &setup) {
  return downTiles(setup, RankTraffic(setup, RankTraffic::Shared(setup), 0)).columnTiles;
}

llvm::Error sim::checkSchedule(const Setup &setup, const Schedule &schedule) {
  if (schedule.kind == Schedule::Overlap && schedule.order == Schedule::Part) {
    const RankTraffic traffic(setup, RankTraffic::Shared(setup), 0);
    const double parts = std::max(std::ceil(traffic.rowsPerSource / double(schedule.chunk)), 1.0);
    const int64_t sum = std::accumulate(schedule.steps.begin(), schedule.steps.end(), int64_t(0));
    if (double(sum) != parts)
      return llvm::createStringError("schedule: 'steps' has " + llvm::Twine(sum) + " parts, " +
                                     llvm::Twine(int64_t(traffic.rowsPerSource)) + " rows of a source in chunks of " +
                                     llvm::Twine(schedule.chunk) + " have " + llvm::Twine(int64_t(parts)));
  }
  const int64_t multiprocessors = setup.cluster.isCpu() ? 0 : setup.cluster.workers();
  return checkSchedule(withBlocks(schedule, setup.cluster), sourcesOf(setup), columnBlocks(setup), multiprocessors);
}
