//===- Rank.cpp - one rank of a simulated layer -------------------------------------------------------------------===//

#include "Rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace moe_mlir;
using namespace moe_mlir::sim;

// Instructions of a thread for a result: SiLU of the gate by approximate functions, times up; an activation alone; a
// sum as it is.
static constexpr CudaEpilogue kGated{2, 2, 9, 2}, kSingle{1, 2, 9, 2}, kStored{1, 4, 1, 0};
// Blocks beside products, if a schedule leaves them to its target, and rows of a piece without limit.
static constexpr int64_t kSend = 12, kReturn = 20, kWhole = 1 << 20;

static double nodeShare(const Setup &setup, int64_t node) {
  const int64_t m = setup.cluster.ranksPerNode;
  double share = 0;
  for (int64_t rank = node * m; rank < (node + 1) * m; ++rank)
    share += setup.layer.shareOf(rank, setup.cluster.ranks());
  return share;
}

RankTraffic::Shared::Shared(const Setup &setup) {
  const Cluster &cluster = setup.cluster;
  const double tokens = double(setup.layer.tokens), q = double(cluster.nodes);
  double all = 0, least = 0, toNodes = 0, fewestToNode = 0;
  for (int64_t node = 0; node < cluster.nodes; ++node) {
    double within = 0, fewest = tokens;
    for (int64_t rank = node * cluster.ranksPerNode; rank < (node + 1) * cluster.ranksPerNode; ++rank) {
      const double rows = tokens * setup.layer.chance(setup.layer.shareOf(rank, cluster.ranks()));
      within += rows;
      fewest = std::min(fewest, rows);
    }
    localRows = std::max(localRows, within - fewest);
    least = node ? std::min(least, within) : within;
    all += within;
    const double rows = tokens * setup.layer.chance(nodeShare(setup, node));
    toNodes += rows;
    fewestToNode = node ? std::min(fewestToNode, rows) : rows;
  }
  gathered = all;
  if (!setup.nested) {
    networkRows = all - least;
    return;
  }
  // A rank passes on the rows of the ranks in its place of all nodes.
  localRows *= q;
  outerRows = toNodes - fewestToNode;
  gathered += toNodes;
}

std::pair<double, double> RankTraffic::sharesOf(const Setup &setup, int64_t rank) {
  return {setup.layer.shareOf(rank, setup.cluster.ranks()),
          setup.nested && !setup.layer.share.empty() ? nodeShare(setup, rank / setup.cluster.ranksPerNode) : 0.0};
}

RankTraffic::RankTraffic(const Setup &setup, const Shared &shared, int64_t rank) {
  const Cluster &cluster = setup.cluster;
  const double share = setup.layer.shareOf(rank, cluster.ranks());
  sources = sourcesOf(setup);
  localSources = cluster.ranksPerNode;
  rowsPerSource = double(setup.layer.tokens) * setup.layer.chance(share) * double(setup.nested ? cluster.nodes : 1);
  pairs = setup.layer.pairs(cluster.ranks(), share);
  localRows = std::max(shared.localRows, double(localSources - 1) * rowsPerSource);
  networkRows = std::max(shared.networkRows, double(sources - localSources) * rowsPerSource);
  outerRows = shared.outerRows;
  gathered = shared.gathered;
}

int64_t sim::expertsOf(const Setup &setup) { return std::max<int64_t>(setup.layer.experts / setup.cluster.ranks(), 1); }

Tiles sim::upTiles(const Setup &setup, const RankTraffic &traffic) {
  const Layer &layer = setup.layer;
  if (setup.cluster.isCpu())
    return cpuTilesOf(setup.cluster, {expertsOf(setup), layer.ffn * (layer.gated ? 2 : 1), layer.hidden,
                                      std::max<int64_t>(std::llround(traffic.pairs), 1), layer.elementBytes});
  return tilesOf(setup.cluster.device,
                 {expertsOf(setup), layer.ffn * (layer.gated ? 2 : 1), layer.hidden,
                  std::max<int64_t>(std::llround(traffic.pairs), 1), layer.elementBytes,
                  layer.gated ? kGated : kSingle});
}

Tiles sim::downTiles(const Setup &setup, const RankTraffic &traffic) {
  const Layer &layer = setup.layer;
  if (setup.cluster.isCpu())
    return cpuTilesOf(setup.cluster, {expertsOf(setup), layer.hidden, layer.ffn,
                                      std::max<int64_t>(std::llround(traffic.pairs), 1), layer.elementBytes});
  return tilesOf(setup.cluster.device,
                 {expertsOf(setup), layer.hidden, layer.ffn, std::max<int64_t>(std::llround(traffic.pairs), 1),
                  layer.elementBytes, kStored});
}

RankState::RankState(const Setup &setup, const Schedule &schedule, const RankTraffic &traffic, std::vector<Span> *spans)
    : setup(setup), cluster(setup.cluster), layer(setup.layer), traffic(traffic), schedule(schedule), spans(spans),
      row(double(layer.hidden * layer.elementBytes)), sums(double(layer.hidden * layer.sumBytes)),
      remotes(double(traffic.sources - traffic.localSources)), locals(double(traffic.localSources - 1)) {}

void RankState::span(Span::Lane lane, std::string name, double start, double end, double bytes) {
  if (spans && end > start)
    spans->push_back({lane, std::move(name), start, end - start, bytes});
}

double RankState::networkSeconds(double bytes, double messages) const {
  return bytes / rateOf(cluster.network, setup.constants) + messages * cluster.message;
}

double RankState::latency() const {
  return std::max(locals > 0 ? cluster.local.latency : 0, remotes > 0 ? cluster.network.latency : 0);
}

void RankState::outer(Run &run, bool back, double bytesOfRow) {
  if (!setup.nested || cluster.nodes == 1)
    return;
  Leg &leg = back ? run.back : run.out;
  const double bytes = traffic.outerRows * bytesOfRow;
  const double seconds = networkSeconds(bytes, double(cluster.nodes - 1)) + cluster.network.latency + cluster.launch;
  span(Span::Network, back ? "return to nodes" : "send to nodes", now, now + seconds, bytes);
  leg.networkBytes += bytes;
  leg.seconds += seconds;
  now += seconds;
}

namespace {
/// A rank that is a GPU.
struct Simulation : RankState {
  using RankState::RankState;

  double localRate(int64_t blocks, double perBlock) const {
    return std::min(rateOf(cluster.local, setup.constants), double(blocks) * perBlock);
  }
  double put() const { return setup.bulk ? cluster.bulkBytesPerSecond : cluster.storeBytesPerSecond; }
  /// Bytes of sums per second that a block returns: it reads the results of a token's experts, then puts their sum.
  double perReturningBlock() const {
    const double rows = std::max(traffic.rowsPerSource * double(traffic.sources), 1.0);
    const double read = traffic.pairs / rows * kResultBytes / double(layer.sumBytes);
    return 1 / std::max(1 / put(), read / (cluster.device.cacheBytes * cluster.device.hertz));
  }

  void up(Run &run);
  void down(Run &run);
  void returned(Run &run, const Tiles &tiles, double tile, int64_t blocks, double start);

  int64_t all = cluster.device.multiprocessors;
};
} // namespace

void Simulation::up(Run &run) {
  const bool plain = schedule.kind == Schedule::Plain, byPart = schedule.order == Schedule::Part;
  const int64_t sending = plain ? all : schedule.send, multiplying = plain ? all : all - schedule.send;
  run.out.localBytes += traffic.localRows * row;
  run.out.networkBytes += traffic.networkRows * row;
  const double network = networkSeconds(traffic.networkRows * row, remotes);
  auto local = [&](int64_t blocks) { return traffic.localRows * row / localRate(blocks, put()); };
  const double latency = this->latency();
  run.out.seconds += std::max(local(all), network) + latency;
  const double seconds = local(sending), end = std::max(seconds, network) + latency;

  std::vector<Arrival> arrivals;
  if (plain) {
    arrivals.push_back({now + end, now + end});
  } else if (byPart) {
    const int64_t parts = partsOf(schedule, traffic);
    for (int64_t part = 1; part <= parts; ++part)
      arrivals.push_back({now + (end - latency) * double(part) / double(parts) + latency,
                          now + (end - latency) * double(part) / double(parts) + latency});
  } else {
    arrivals.push_back({now, now});
    for (int64_t source = 1; source < traffic.sources; ++source) {
      const bool near = source < traffic.localSources;
      const double place = double(near ? source : source - traffic.localSources + 1);
      const double each = near ? seconds / locals : network / remotes;
      const double first = now + (near ? cluster.local.latency : cluster.network.latency);
      arrivals.push_back({first + (place - 1) * each, first + place * each});
    }
  }
  span(Span::Link, "rows out", now, now + (locals > 0 ? seconds : 0), traffic.localRows * row);
  span(Span::Network, "rows out", now, now + (remotes > 0 ? network : 0), traffic.networkRows * row);

  const Tiles tiles = upTiles(setup, traffic);
  const int64_t experts = expertsOf(setup);
  const double perUnit = byPart ? double(schedule.chunk) : traffic.rowsPerSource * double(plain ? traffic.sources : 1);
  const UpList list = makeUpList(schedule, tiles, arrivals, experts, perUnit, traffic.pairs);
  const double weights = double(list.experts * layer.ffn * (layer.gated ? 2 : 1)) * row;
  const double moved = weights * double(list.ends.size()) +
                       traffic.rowsPerSource * double(traffic.sources) * row * (plain ? 1 : 2) +
                       traffic.pairs * double(layer.ffn * layer.elementBytes);
  const double records = tiles.record * double(plain ? list.experts : list.records);
  const double tile = tileSeconds(cluster.device, tiles, multiplying, moved, records);
  std::vector<double> stepEnds;
  const double start = plain ? now + end + cluster.launch : now;
  now = runUpList(list, tiles.columnTiles, multiplying, tile, start, &stepEnds);
  now = std::max(now, plain ? start : run.announced + end);
  run.upBusy = std::ceil(double(tiles.count()) / double(multiplying)) * tile;
  run.upEnd = now;
  double before = start;
  for (size_t i = 0; i < stepEnds.size(); before = stepEnds[i], ++i)
    span(Span::Products, stepEnds.size() == 1 ? "up" : "up, step " + std::to_string(i + 1), before, stepEnds[i]);
}

void Simulation::down(Run &run) {
  const bool apart = schedule.kind != Schedule::Overlap;
  const int64_t blocks = apart ? all : all - schedule.back;
  const Tiles tiles = downTiles(setup, traffic);
  const int64_t experts = std::max<int64_t>(std::min(expertsOf(setup), int64_t(std::ceil(traffic.pairs))), 1);
  const double results = traffic.pairs * double(layer.hidden) * kResultBytes;
  const double moved = double(experts * layer.ffn) * row + traffic.pairs * double(layer.ffn * layer.elementBytes) +
                       results * (apart ? 1 : 2);
  const double tile = tileSeconds(cluster.device, tiles, blocks, moved, tiles.record * double(experts));
  const double start = now + cluster.launch;
  run.downBusy = std::ceil(double(tiles.count()) / double(blocks)) * tile;
  run.downEnd = start + run.downBusy;
  if (apart)
    span(Span::Products, "down", start, run.downEnd);

  const double local = locals * traffic.rowsPerSource * sums, network = remotes * traffic.rowsPerSource * sums;
  const double latency = this->latency();
  run.back.localBytes += local;
  run.back.networkBytes += network;
  const double alone = std::max({local / localRate(all, perReturningBlock()), networkSeconds(network, remotes),
                                 rowsSeconds(cluster.device, results)}) +
                       latency;
  run.back.seconds += alone;
  if (!apart)
    return returned(run, tiles, tile, blocks, start);
  run.firstReturn = run.downEnd + cluster.launch;
  span(Span::Link, "sums back", run.firstReturn, run.firstReturn + (locals > 0 ? alone : 0), local);
  span(Span::Network, "sums back", run.firstReturn, run.firstReturn + (remotes > 0 ? alone : 0), network);
  now = run.firstReturn + alone;
}

/// Slices of sums on their way back while down multiplies.
void Simulation::returned(Run &run, const Tiles &tiles, double tile, int64_t blocks, double start) {
  const auto slices = double(schedule.slices);
  const double local = locals * traffic.rowsPerSource * sums / slices;
  const double network = remotes * traffic.rowsPerSource * sums / slices;
  // Sums of own tokens keep the blocks busy, not the link; those for other nodes too.
  const double kept = (1 + remotes) * traffic.rowsPerSource * sums / slices, perBlock = perReturningBlock();
  auto needed = [&](int64_t by) {
    return std::max(local / rateOf(cluster.local, setup.constants), (local + kept) / (double(by) * perBlock));
  };
  const double slow = needed(schedule.back), fast = needed(all);
  // The rate rises when products end: their blocks return, too.
  auto finish = [&](double from) {
    const double before = std::max(run.downEnd - from, 0.0);
    return before >= slow ? from + slow : std::max(from, run.downEnd) + fast * (1 - before / slow);
  };
  auto doneAt = [&](int64_t slice) {
    const int64_t columns = tiles.columnTiles * slice / schedule.slices;
    return start + std::ceil(double(columns * tiles.rowTiles) / double(blocks)) * tile;
  };
  double linkFree = 0, networkFree = 0;
  for (int64_t slice = 1; slice <= schedule.slices; ++slice) {
    const double done = doneAt(slice), from = std::max(done, linkFree);
    linkFree = finish(from);
    if (slice == 1)
      run.firstReturn = done;
    span(Span::Products, "down, slice " + std::to_string(slice), doneAt(slice - 1), done);
    span(Span::Link, "sums back", from, locals > 0 ? linkFree : from, local);
    if (remotes > 0) {
      const double begin = std::max(done, networkFree);
      networkFree = begin + networkSeconds(network, remotes);
      span(Span::Network, "sums back", begin, networkFree, network);
    }
  }
  now = std::max(linkFree + (locals > 0 ? cluster.local.latency : 0),
                 remotes > 0 ? networkFree + cluster.network.latency : 0);
}

int64_t sim::partsOf(const Schedule &schedule, const RankTraffic &traffic) {
  return std::max<int64_t>(std::llround(std::ceil(traffic.rowsPerSource / double(schedule.chunk))), 1);
}

Schedule sim::withBlocks(Schedule schedule, const Cluster &cluster) {
  schedule.piece = schedule.piece ? schedule.piece : kWhole;
  if (!cluster.isCpu()) {
    schedule.send = schedule.send ? schedule.send : kSend;
    schedule.back = schedule.back ? schedule.back : kReturn;
  }
  return schedule;
}

Run sim::simulateRank(const Setup &setup, const Schedule &given, const RankTraffic &traffic, std::vector<Span> *spans) {
  Schedule schedule = withBlocks(given, setup.cluster);
  if (schedule.kind == Schedule::Parts) {
    // Tutel's degree: a chunk of every source is a part, and a step.
    schedule.chunk = std::max<int64_t>(std::llround(std::ceil(traffic.rowsPerSource / double(given.parts))), 1);
    schedule.order = Schedule::Part;
    schedule.steps.assign(static_cast<size_t>(given.parts), 1);
    schedule.piece = kWhole;
    schedule.send = std::max<int64_t>(setup.cluster.device.multiprocessors / 10, 1);
  } else if (schedule.kind == Schedule::Plain) {
    schedule.steps = {1};
    schedule.piece = kWhole;
    schedule.chunk = kWhole;
  }
  if (setup.cluster.isCpu())
    return simulateCpuRank(setup, schedule, traffic, spans);
  Simulation simulation(setup, schedule, traffic, spans);
  const Cluster &cluster = setup.cluster;
  Run run;
  const double latency = cluster.nodes > 1 ? cluster.network.latency : cluster.local.latency;
  simulation.now = kRoutingLaunches * cluster.launch + (cluster.ranks() > 1 ? latency : 0);
  simulation.outer(run, /*back=*/false, simulation.row);
  run.announced = simulation.now;
  simulation.up(run);
  simulation.down(run);
  simulation.outer(run, /*back=*/true, simulation.sums);
  run.seconds = simulation.now;
  run.collect = cluster.launch + rowsSeconds(cluster.device, traffic.gathered * simulation.sums +
                                                                 double(setup.layer.tokens) * simulation.row);
  simulation.span(Span::Products, "collect", run.seconds + cluster.launch, run.seconds + run.collect);
  return run;
}
