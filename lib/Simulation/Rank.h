//===- Rank.h - one rank of a simulated layer -----------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_SIMULATION_RANK_H
#define MOE_MLIR_LIB_SIMULATION_RANK_H

#include "moe-mlir/Simulation/Simulate.h"

namespace moe_mlir::sim {

constexpr double kResultBytes = 4; ///< of an expert's result, before the sum over a token's experts
constexpr int kRoutingLaunches = 3; ///< count, layout and order of the rows that come

/// Rows of one rank, and what its links carry.
struct RankTraffic {
  /// What is the same for all ranks.
  struct Shared {
    explicit Shared(const Setup &setup);
    double localRows = 0, networkRows = 0; ///< that a rank sends to others of its node, and of other nodes, at most
    double outerRows = 0;                  ///< nested: to other nodes
    double gathered = 0;                   ///< sums that a rank collects
  };

  RankTraffic(const Setup &setup, const Shared &shared, int64_t rank);
  /// The rank's share of all pairs, and its node's.
  static std::pair<double, double> sharesOf(const Setup &setup, int64_t rank);

  int64_t sources = 1, localSources = 1; ///< this rank included
  double rowsPerSource = 0;
  double pairs = 0;                      ///< rows of all its experts
  double localRows = 0, networkRows = 0; ///< in or out, whichever takes longer
  double outerRows = 0, gathered = 0;
};

Tiles upTiles(const Setup &setup, const RankTraffic &traffic);
Tiles downTiles(const Setup &setup, const RankTraffic &traffic);

/// The schedule with numbers for what it leaves to its target.
Schedule withBlocks(Schedule schedule, const Cluster &cluster);

/// Spans are added if there is where to.
Run simulateRank(const Setup &setup, const Schedule &schedule, const RankTraffic &traffic, std::vector<Span> *spans);
/// The same of a CPU, with every number of the schedule set.
Run simulateCpuRank(const Setup &setup, const Schedule &schedule, const RankTraffic &traffic, std::vector<Span> *spans);

/// A simulated rank: constants of the set-up, and the time that it is now.
struct RankState {
  RankState(const Setup &setup, const Schedule &schedule, const RankTraffic &traffic, std::vector<Span> *spans);

  void span(Span::Lane lane, std::string name, double start, double end, double bytes = 0);
  double networkSeconds(double bytes, double messages) const;
  /// Nested: the exchange between nodes, before or after the one within.
  void outer(Run &run, bool back, double bytesOfRow);
  /// From a store to its sight at the farthest rank that gets rows.
  double latency() const;

  const Setup &setup;
  const Cluster &cluster;
  const Layer &layer;
  const RankTraffic &traffic;
  Schedule schedule;
  std::vector<Span> *spans;
  double row, sums;       ///< bytes of a row, and of a sum
  double remotes, locals; ///< other sources
  double now = 0;
};

/// Experts of a rank.
int64_t expertsOf(const Setup &setup);

/// When rows of a source have come: the fractions from 0 to 1 of its rows between two times.
struct Arrival {
  double start = 0, end = 0;
};

/// When the tiles of up can start, and how they are cut into steps and records.
struct UpList {
  std::vector<double> ready;   ///< of the i-th row tile of an expert
  std::vector<int64_t> ends;   ///< of steps: row tiles of an expert up to there
  int64_t experts = 1;         ///< that have rows
  int64_t perExpert = 0;       ///< row tiles of an expert; the first `more` have another one
  int64_t more = 0;
  int64_t records = 0;         ///< of all experts and steps
};
/// `order = part`: rows of a source in parts of a chunk; how many.
int64_t partsOf(const Schedule &schedule, const RankTraffic &traffic);
UpList makeUpList(const Schedule &schedule, const Tiles &tiles, const std::vector<Arrival> &arrivals, int64_t experts,
                  double rowsPerSource, double pairs);

/// Runs the list on `blocks`, of which each takes `seconds` for a tile; ends of steps go to `stepEnds`.
double runUpList(const UpList &list, int64_t columnTiles, int64_t blocks, double seconds, double start,
                 std::vector<double> *stepEnds = nullptr);
/// The same on threads of a CPU, of which each takes all tiles of an expert for a block of columns. `perStep` passes
/// in front of each step.
double runCpuList(const UpList &list, const Tiles &tiles, int64_t workers, double start, double perStep,
                  std::vector<double> &stepEnds);

} // namespace moe_mlir::sim

#endif // MOE_MLIR_LIB_SIMULATION_RANK_H
