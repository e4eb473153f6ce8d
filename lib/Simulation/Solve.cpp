//===- Solve.cpp - the schedule that takes the least simulated time -----------------------------------------------===//

#include "moe-mlir/Simulation/Solve.h"

#include "Rank.h"

#include <algorithm>
#include <numeric>

using namespace moe_mlir;
using namespace moe_mlir::sim;

using Steps = llvm::SmallVector<int64_t>;

/// Sums of sources to `units`: one step, own rows first, powers of a factor, single sources.
static std::vector<Steps> stepCandidates(int64_t units) {
  std::vector<Steps> all{{units}};
  auto add = [&](Steps steps) {
    int64_t rest = units - std::accumulate(steps.begin(), steps.end(), int64_t(0));
    if (rest > 0)
      steps.push_back(rest);
    if (rest >= 0 && std::find(all.begin(), all.end(), steps) == all.end())
      all.push_back(std::move(steps));
  };
  for (int64_t first = 1; first < units; first *= 2) {
    add({first});
    for (int64_t second = 1; first + second < units; second *= 2)
      add({first, second});
  }
  for (int64_t factor : {1, 2, 3}) {
    Steps steps;
    for (int64_t sum = 0, step = 1; sum + step <= units && steps.size() < 16; sum += step, step *= factor)
      steps.push_back(step);
    add(steps);
  }
  if (units >= 3)
    add({1, (units - 1) / 2});
  return all;
}

/// Steps that differ in one place: two of them together, one in two, a source moved to the next one.
static std::vector<Steps> neighbours(const Steps &steps) {
  std::vector<Steps> all;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] > 1 && steps.size() < 16) {
      Steps cut = steps;
      cut[i] = steps[i] / 2;
      cut.insert(cut.begin() + i + 1, steps[i] - cut[i]);
      all.push_back(std::move(cut));
    }
    if (i + 1 == steps.size())
      break;
    Steps joined = steps;
    joined[i + 1] += joined[i];
    joined.erase(joined.begin() + i);
    all.push_back(std::move(joined));
    for (int64_t moved : {1, -1}) {
      Steps other = steps;
      other[i] += moved;
      other[i + 1] -= moved;
      if (other[i] > 0 && other[i + 1] > 0)
        all.push_back(std::move(other));
    }
  }
  return all;
}

/// Blocks beside products. On a CPU threads do all of the work in turns.
static std::vector<int64_t> blockCandidates(const Cluster &cluster) {
  std::vector<int64_t> blocks;
  const int64_t multiprocessors = cluster.isCpu() ? 0 : cluster.workers();
  for (int64_t count = 1; count < multiprocessors / 2; count += count < 32 ? 1 : 4)
    blocks.push_back(count);
  return blocks;
}

/// Slices of the result's columns: of a program those that share its blocks equally.
static std::vector<int64_t> sliceCandidates(const Setup &setup) {
  std::vector<int64_t> slices;
  const int64_t most = columnBlocks(setup);
  for (int64_t count = 1; count <= most; ++count)
    if (setup.blocks ? setup.blocks % count == 0 : most % count == 0 || (count & (count - 1)) == 0)
      slices.push_back(count);
  return slices;
}

namespace {
struct Search {
  explicit Search(const Setup &setup) : setup(setup) {}

  double time(const Schedule &schedule) {
    ++simulations;
    return simulate(setup, schedule).seconds;
  }

  /// Sets `field` to the best of `values`. Returns whether that is another one.
  template <typename T>
  bool improve(T Schedule::*field, const std::vector<T> &values) {
    bool changed = false;
    for (const T &value : values) {
      Schedule other = best;
      other.*field = value;
      if (other.*field == best.*field)
        continue;
      double seconds = time(other);
      if (seconds < bestSeconds) {
        best = std::move(other);
        bestSeconds = seconds;
        changed = true;
      }
    }
    return changed;
  }

  /// From one schedule to a better one as long as there is one.
  void descend(Schedule from);

  const Setup &setup;
  Schedule best;
  double bestSeconds = 0;
  int64_t simulations = 0;
};
} // namespace

void Search::descend(Schedule from) {
  const int64_t units = sourcesOf(setup);
  const std::vector<int64_t> slices = sliceCandidates(setup);
  bestSeconds = time(from);
  best = std::move(from);
  for (int round = 0; round < 8; ++round) {
    bool changed = improve(&Schedule::steps, stepCandidates(units));
    changed |= improve(&Schedule::steps, neighbours(best.steps));
    changed |= improve(&Schedule::send, blockCandidates(setup.cluster));
    changed |= improve(&Schedule::piece, {128, 256, 512, 1024, 2048, 4096});
    changed |= improve(&Schedule::chunk, {32, 64, 128, 256, 512});
    changed |= improve(&Schedule::slices, slices);
    changed |= improve(&Schedule::back, blockCandidates(setup.cluster));
    if (!changed)
      return;
  }
}

int64_t sim::mostTokens(const Layer &layer) {
  // A simulation takes each tile of the first products.
  const double columns = double(layer.topK) * double(layer.ffn) * (layer.gated ? 2 : 1);
  return std::max<int64_t>(int64_t(0x1p34 / columns), 1);
}

llvm::Error sim::checkSearch(const Setup &setup) {
  const int64_t most = mostTokens(setup.layer);
  if (setup.layer.tokens <= most)
    return llvm::Error::success();
  return llvm::createStringError(llvm::Twine(setup.layer.tokens) +
                                 " tokens of each rank are too many to find a schedule for; this layer's ranks can "
                                 "have up to " +
                                 llvm::Twine(most));
}

Solution sim::solve(const Setup &setup) {
  Search search(setup);
  Solution solution;
  solution.plain = solution.seconds = search.time(Schedule());
  if (sourcesOf(setup) == 1)
    return solution;
  const bool isCpu = setup.cluster.isCpu();
  const int64_t blocks = setup.cluster.workers(), units = sourcesOf(setup);
  for (int64_t part : {12, 40, 24}) {
    Schedule start;
    start.kind = Schedule::Overlap;
    if (part == 24)
      for (int64_t rest = units; rest > 0; rest -= start.steps.back())
        start.steps.push_back(std::min(rest, (units + 7) / 8));
    else
      start.steps = {1, units - 1};
    start.send = start.back = isCpu ? 0 : std::max<int64_t>(blocks / part, 1);
    for (int64_t slices : sliceCandidates(setup))
      if (slices <= 8)
        start.slices = slices;
    start.piece = 512;
    search.descend(start);
    if (!solution.overlapped || search.bestSeconds < solution.overlapped) {
      solution.overlap = search.best;
      solution.overlapped = search.bestSeconds;
    }
  }
  for (int64_t parts : {2, 4, 8}) {
    Schedule schedule;
    schedule.kind = Schedule::Parts;
    schedule.parts = parts;
    double seconds = search.time(schedule);
    if (seconds < solution.overlapped) {
      solution.overlap = schedule;
      solution.overlapped = seconds;
    }
  }
  solution.simulations = search.simulations;
  if (solution.overlapped <= solution.plain * (1 - kLeastGain)) {
    solution.schedule = solution.overlap;
    solution.seconds = solution.overlapped;
  }
  return solution;
}

std::pair<Setup, Solution> sim::solveExchange(Setup setup) {
  setup.nested = false;
  Solution flat = solve(setup);
  if (setup.cluster.nodes == 1 || setup.cluster.ranksPerNode == 1)
    return {setup, flat};
  Setup other = setup;
  other.nested = true;
  Solution nested = solve(other);
  return nested.seconds < flat.seconds ? std::pair(other, nested) : std::pair(setup, flat);
}

Schedule sim::drawSchedule(const Setup &setup, std::mt19937 &random) {
  auto draw = [&](int64_t least, int64_t most) { return least + int64_t(random() % uint64_t(most - least + 1)); };
  Schedule schedule;
  const int64_t kind = draw(0, 9);
  if (kind == 0) {
    schedule.kind = Schedule::Parts;
    schedule.parts = draw(1, 16);
    return schedule;
  }
  schedule.kind = Schedule::Overlap;
  schedule.order = kind <= 3 ? Schedule::Part : Schedule::Source;
  schedule.chunk = int64_t(16) << draw(0, 6);
  schedule.piece = int64_t(128) << draw(0, 5);
  const int64_t units = schedule.order == Schedule::Source
                            ? sourcesOf(setup)
                            : partsOf(schedule, RankTraffic(setup, RankTraffic::Shared(setup), 0));
  for (int64_t rest = units; rest > 0; rest -= schedule.steps.back())
    schedule.steps.push_back(schedule.steps.size() < 16 ? draw(1, rest) : rest);
  const bool isCpu = setup.cluster.isCpu();
  schedule.send = isCpu ? 0 : draw(1, setup.cluster.workers() / 2);
  schedule.back = isCpu ? 0 : draw(1, setup.cluster.workers() / 2);
  const std::vector<int64_t> slices = sliceCandidates(setup);
  schedule.slices = setup.blocks ? slices[size_t(draw(0, int64_t(slices.size()) - 1))] : draw(1, columnBlocks(setup));
  return schedule;
}
