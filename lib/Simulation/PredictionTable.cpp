//===- PredictionTable.cpp - published times beside the model's, as Markdown --------------------------------------===//

#include "moe-mlir/Simulation/Predictions.h"
#include "moe-mlir/Simulation/Solve.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

// Products of two kernels and their legs at rates that are reached in practice, max(0.52, 0.41) + max(0.26, 0.41).
static constexpr double kIdealMilliseconds = 0.93;

/// Three or more digits.
static std::string digits(double value) {
  const double size = std::abs(value);
  return size >= 100 ? formatv("{0:f0}", value) : size >= 10 ? formatv("{0:f1}", value) : formatv("{0:f2}", value);
}

static void printRows(ArrayRef<Prediction> rows, raw_ostream &os) {
  os << "| source | case | published | simulated | unit | deviation |\n|---|---|---|---|---|---|\n";
  for (const Prediction &row : rows)
    os << formatv("| {0} | {1} | {2} | {3} | {4} | {5:f0} % |\n", row.source, row.what, digits(row.published),
                  digits(row.simulated), row.unit, 100 * row.deviation());
}

/// What the compiler's own schedules take, with the solver's choice.
static Error printOwn(const Machines &machines, raw_ostream &os) {
  struct {
    const char *layer;
    const Cluster &cluster;
    int64_t tokens;
    double deviation;
  } const cases[] = {{"mixtral-8x7b,gated=no", machines.h800, 2048, 0},
                     {"qwen3-30b", machines.h200, 8192, 0},
                     {"mixtral-8x7b", machines.h200, 8192, 0},
                     {"qwen3-30b", machines.h200, 8192, 0.032},
                     {"mixtral-8x7b", machines.h200, 8192, 0.032}};
  os << "| layer | cluster | tokens per rank | std of shares | plain ms | overlap ms | solver's choice | floor ms "
        "| overlap / floor | hidden of all | of what can be hidden |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  std::string schedules;
  double qwen = 0; // milliseconds, the first time
  for (const auto &each : cases) {
    Setup setup;
    setup.cluster = each.cluster;
    Expected<Layer> layer = parseLayer(each.layer);
    if (!layer)
      return layer.takeError();
    setup.layer = *layer;
    setup.layer.tokens = each.tokens;
    setup.layer.sumBytes = 2;
    if (each.deviation > 0) {
      Expected<std::vector<double>> share = drawnShares(each.cluster.ranks(), each.deviation);
      if (!share)
        return share.takeError();
      setup.layer.share = *share;
    }
    const Solution solution = solve(setup);
    const Summary summary = summarize(setup, simulate(setup, solution.overlap));
    os << formatv("| {0} | {1} x {2} | {3} | {4:f3} | {5:f3} | {6:f3} | {7} | {8:f3} | {9:f2} | {10:f1} % | {11:f1} % "
                  "|\n",
                  each.layer, setup.cluster.ranks(), setup.cluster.name, each.tokens, each.deviation,
                  solution.plain * 1e3, solution.overlapped * 1e3,
                  solution.schedule.kind == Schedule::Plain ? "plain" : "overlap", summary.bound * 1e3,
                  solution.overlapped / summary.bound, 100 * summary.hidden / (summary.out + summary.back),
                  100 * summary.hidden / summary.hideable);
    if (qwen == 0 && setup.layer.name == "qwen3-30b")
      qwen = solution.overlapped * 1e3;
    schedules += formatv("- {0}, {1} x {2}, {3:f3}: `{4}`\n", each.layer, setup.cluster.ranks(), setup.cluster.name,
                         each.deviation, toString(solution.overlap));
  }
  os << formatv("\nWith 790 TFLOP/s and 380 GB/s, no ragged tiles and no epilogue, the floor of Qwen3-30B is {0} ms: "
                "the overlap takes {1:f2} of that.\n",
                kIdealMilliseconds, qwen / kIdealMilliseconds);
  os << "\nThe schedules that were found:\n\n" << schedules;
  return Error::success();
}

Error sim::printPredictions(StringRef folder, raw_ostream &os) {
  Expected<Machines> machines = readMachines(folder);
  if (!machines)
    return machines.takeError();
  const Constants constants;
  const std::vector<Prediction> predicted = predictedRows(*machines, constants);
  os << "### The compiler's schedules\n\n";
  if (Error error = printOwn(*machines, os))
    return error;
  os << formatv("\n### Fitted: {0:f4} of a link's rate, published products {1:f4} times as long as the compiler's\n\n",
                constants.link, constants.published);
  printRows(fittedRows(*machines, constants), os);
  os << formatv("\n### Predicted: {0} numbers, median deviation {1:f1} %\n\n", predicted.size(),
                100 * medianDeviation(predicted));
  printRows(predicted, os);
  os << "\n### Printed, not counted\n\n";
  printRows(printedRows(*machines, constants), os);
  return Error::success();
}
