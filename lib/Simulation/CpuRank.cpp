//===- CpuRank.cpp - one rank of a simulated layer on a CPU -------------------------------------------------------===//
//
// Threads of a rank take the blocks of a group in one order (docs/rationale/overlap.md). They first copy the rows that
// leave, and then multiply; a slice's sums are made and copied when the next slice is multiplied. What they copy for a
// rank of the same host is there; what goes to another host is on its way while they do something else. So only links
// between hosts can be hidden.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Rank.h"

#include "moe-mlir/Simulation/Rates.h"

#include <algorithm>
#include <cmath>

using namespace moe_mlir;
using namespace moe_mlir::sim;

// Ids are numbers of 32 bits; they travel in front of the rows, with weights of the tokens' type.
static constexpr int64_t kIdBytes = 4;

namespace {
struct CpuSimulation : RankState {
  CpuSimulation(const Setup &setup, const Schedule &schedule, const RankTraffic &traffic, std::vector<Span> *spans)
      : RankState(setup, schedule, traffic, spans), rates(cpuRates(setup.cluster)), workers(cluster.workers()) {
    if (layer.gathered) // a step waits for all of its rows
      this->schedule.piece = 1 << 20;
  }

  void announce(Run &run);
  void up(Run &run);
  void down(Run &run);
  void returned(Run &run, const Tiles &tiles, double columnBlock);

  bool isPlain() const { return schedule.kind == Schedule::Plain; }
  /// Seconds in which the rank's threads copy so many bytes into windows.
  double copySeconds(double bytes) const { return bytes / rateOf(cluster.local, setup.constants); }
  /// Flags of a source's rows: a chunk has one.
  double chunks() const { return isPlain() ? 1 : double(partsOf(schedule, traffic)); }
  /// When threads that begin to copy at `from` see what the others sent in the same way: a launch waits for that, which
  /// begins meanwhile.
  double seenAt(double from, double copies, double network) const {
    return from + std::max(copies + cluster.launch, std::max(copies, network) + latency());
  }
  std::vector<Arrival> arrivals(double copies, double network) const;
  /// Experts that have rows.
  int64_t active() const { return std::max<int64_t>(std::min(expertsOf(setup), int64_t(std::ceil(traffic.pairs))), 1); }
  /// Seconds of the threads for all tiles, if weights are read once for each of `records` in each block of columns.
  double busy(const Tiles &tiles, double records) const {
    const double ofColumns = double(tiles.rowTiles) * tiles.seconds + records * (tiles.first - tiles.seconds);
    return double(tiles.columnTiles) * ofColumns / double(workers);
  }

  Rates rates;
  int64_t workers;
};
} // namespace

void CpuSimulation::announce(Run &run) {
  const double companions = traffic.networkRows * double(layer.topK * (kIdBytes + layer.elementBytes));
  const double wait = cluster.nodes > 1 ? cluster.network.latency : cluster.local.latency;
  now = kRoutingLaunches * cluster.launch + (cluster.ranks() > 1 ? wait : 0) + networkSeconds(companions, remotes);
  outer(run, /*back=*/false, row);
  run.announced = now;
}

/// When the rows of sources come, own ones first, or those of parts, if threads begin to copy them now.
std::vector<Arrival> CpuSimulation::arrivals(double copies, double network) const {
  std::vector<Arrival> all;
  if (schedule.order == Schedule::Part) {
    const auto parts = static_cast<int64_t>(chunks());
    for (int64_t part = 1; part <= parts; ++part) {
      const double time = now + std::max(copies, network) * double(part) / double(parts) + latency();
      all.push_back({time, time});
    }
    return all;
  }
  all.push_back({now, now});
  for (int64_t source = 1; source < traffic.localSources; ++source)
    all.push_back({now + copies + cluster.local.latency, now + copies + cluster.local.latency});
  const double first = now + cluster.network.latency, each = remotes > 0 ? std::max(copies, network) / remotes : 0;
  for (double place = 0; place < remotes; ++place)
    all.push_back({first + place * each, first + (place + 1) * each});
  return all;
}

void CpuSimulation::up(Run &run) {
  run.out.localBytes += traffic.localRows * row;
  run.out.networkBytes += traffic.networkRows * row;
  const double network = networkSeconds(traffic.networkRows * row, remotes * chunks());
  const double copies = copySeconds((traffic.localRows + traffic.networkRows + traffic.rowsPerSource) * row);
  run.out.seconds += network + latency();
  // Of a CPU with matrix registers: a step's rows are copied once more when all of them have come.
  const double gather = layer.gathered ? 2 * traffic.pairs * row / rates.bytesPerSecond : 0;
  run.upCopies = copies + gather;
  span(Span::Link, "rows out", now, now + copies, traffic.localRows * row);
  span(Span::Network, "rows out", now, now + network, traffic.networkRows * row);

  const bool byPart = schedule.order == Schedule::Part;
  std::vector<Arrival> come = arrivals(copies, network);
  double start = now + copies + 2 * cluster.launch; // records are put in order before
  if (isPlain()) {
    start = seenAt(now, copies, network);
    come = {{start, start}};
  }
  const double perUnit =
      byPart ? double(schedule.chunk) : traffic.rowsPerSource * double(isPlain() ? traffic.sources : 1);
  const Tiles tiles = upTiles(setup, traffic);
  UpList list = makeUpList(schedule, tiles, come, expertsOf(setup), perUnit, traffic.pairs);
  run.upBusy = busy(tiles, double(list.experts) * double(list.ends.size()));
  const double perStep = layer.gathered ? gather / double(list.ends.size()) + cluster.launch : 0;
  for (double &ready : list.ready)
    ready += perStep;
  std::vector<double> stepEnds;
  now = runCpuList(list, tiles, workers, start, perStep + cluster.launch, stepEnds);
  run.upEnd = now;
  double before = start;
  for (size_t i = 0; i < stepEnds.size(); before = stepEnds[i], ++i)
    span(Span::Products, stepEnds.size() == 1 ? "up" : "up, step " + std::to_string(i + 1), before, stepEnds[i]);
}

void CpuSimulation::down(Run &run) {
  const Tiles tiles = downTiles(setup, traffic);
  const double own = traffic.rowsPerSource * sums, local = locals * own, network = remotes * own;
  const double added = traffic.pairs * double(layer.hidden) * kResultBytes / rates.bytesPerSecond;
  run.downBusy = busy(tiles, double(active()));
  run.downCopies = added + copySeconds(own + local + network);
  run.back.localBytes += local;
  run.back.networkBytes += network;
  const auto flags = double(schedule.kind == Schedule::Overlap ? schedule.slices : 1) * chunks();
  run.back.seconds += networkSeconds(network, remotes * flags) + latency();
  if (schedule.kind == Schedule::Overlap)
    return returned(run, tiles, run.downBusy / double(tiles.columnTiles));
  const double start = now + cluster.launch;
  run.downEnd = start + run.downBusy;
  span(Span::Products, "down", start, run.downEnd);
  // Sums are made, then sent, then awaited.
  run.firstReturn = run.downEnd + added + 2 * cluster.launch;
  const double copies = run.downCopies - added, link = networkSeconds(network, remotes);
  span(Span::Link, "sums back", run.firstReturn, run.firstReturn + copies, local);
  span(Span::Network, "sums back", run.firstReturn, run.firstReturn + link, network);
  now = seenAt(run.firstReturn, copies, link);
}

/// Slices of sums, which threads make and copy when they have multiplied the next slice.
void CpuSimulation::returned(Run &run, const Tiles &tiles, double columnBlock) {
  const auto slices = double(schedule.slices);
  const double own = traffic.rowsPerSource * sums / slices, bytes = remotes * own, copies = run.downCopies / slices;
  const double link = networkSeconds(bytes, remotes * chunks());
  double linkFree = 0;
  for (int64_t phase = 0; phase <= schedule.slices; ++phase) {
    if (phase < schedule.slices) {
      const int64_t before = tiles.columnTiles * phase / schedule.slices;
      const int64_t columns = tiles.columnTiles * (phase + 1) / schedule.slices - before;
      const double start = now + cluster.launch;
      now = run.downEnd = start + double(columns) * columnBlock;
      span(Span::Products, "down, slice " + std::to_string(phase + 1), start, now);
    }
    if (phase == 0)
      continue;
    const double start = now + cluster.launch;
    now = start + copies;
    if (phase == 1)
      run.firstReturn = start;
    span(Span::Link, "sums back", start, now, locals * own);
    const double from = std::max(start, linkFree);
    linkFree = std::max(now, from + link);
    span(Span::Network, "sums back", from, from + link, bytes);
  }
  now = std::max(now + cluster.launch, std::max(now, linkFree) + latency());
}

double sim::runCpuList(const UpList &list, const Tiles &tiles, int64_t workers, double start, double perStep,
                       std::vector<double> &stepEnds) {
  std::vector<double> free(static_cast<size_t>(workers), start);
  double last = start;
  size_t worker = 0;
  int64_t begin = 0;
  for (int64_t end : list.ends) {
    // Tiles that wait together.
    std::vector<std::pair<int64_t, double>> pieces;
    for (int64_t tile = begin; tile < end; ++tile) {
      const double ready = list.ready[static_cast<size_t>(tile)];
      if (pieces.empty() || pieces.back().second != ready)
        pieces.push_back({tile, ready});
      pieces.back().first = tile + 1;
    }
    for (double &time : free)
      time += perStep;
    for (int64_t column = 0; column < tiles.columnTiles; ++column)
      for (int64_t expert = 0; expert < list.experts; ++expert) {
        const int64_t all = std::min(end, list.perExpert + (expert < list.more));
        if (begin >= all)
          continue;
        double &time = free[worker];
        int64_t done = begin;
        for (auto [stop, ready] : pieces) {
          if (done >= all)
            break;
          const int64_t count = std::min(stop, all) - done;
          time = std::max(time, ready) + double(count) * tiles.seconds;
          if (done == begin)
            time += tiles.first - tiles.seconds;
          done += count;
        }
        last = std::max(last, time);
        if (++worker == free.size())
          worker = 0;
      }
    stepEnds.push_back(last);
    begin = end;
  }
  return last;
}

Run sim::simulateCpuRank(const Setup &setup, const Schedule &schedule, const RankTraffic &traffic,
                         std::vector<Span> *spans) {
  CpuSimulation simulation(setup, schedule, traffic, spans);
  const Cluster &cluster = setup.cluster;
  Run run;
  simulation.announce(run);
  simulation.up(run);
  simulation.down(run);
  simulation.outer(run, /*back=*/true, simulation.sums);
  run.seconds = simulation.now;
  const double bytes = traffic.gathered * simulation.sums + double(setup.layer.tokens) * simulation.row;
  run.collect = cluster.launch + bytes / simulation.rates.bytesPerSecond;
  simulation.span(Span::Products, "collect", run.seconds + cluster.launch, run.seconds + run.collect);
  return run;
}
