//===- Table.cpp - a report for people ----------------------------------------------------------------------------===//

#include "Exchanges.h"
#include "GpuTable.h"
#include "TextTable.h"
#include "Totals.h"
#include "moe-mlir/Support/TerminalText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace llvm;
using namespace moe_mlir;

/// Numbers below 1000 as they are.
static std::string prefixed(std::optional<int64_t> number) {
  if (!number)
    return "?";
  return *number < 1000 ? std::to_string(*number) : prefixed(double(*number));
}

static std::string intensity(const Totals &totals) {
  std::optional<int64_t> bytes = totals.bytes();
  if (!bytes || !totals.flops)
    return "?";
  if (!*bytes)
    return "-";
  std::string text;
  raw_string_ostream(text) << format("%.2f", double(*totals.flops) / *bytes);
  return text;
}

/// "6x64 f32 fma", "2 of 6x32 bf16 dot", "loops f32".
static std::string programText(const KernelProgram &program) {
  std::string text;
  for (auto [rows, columns] : program.tiles)
    text += (text.empty() ? "" : ", ") + std::to_string(rows) + "x" + std::to_string(columns);
  if (program.accumulators > 1)
    text = std::to_string(program.accumulators) + " of " + text;
  if (!program.tile)
    text = program.single ? "one block" : "loops";
  return text + (program.dtype.empty() ? "" : " " + program.dtype) +
         (program.instruction.empty() ? "" : " " + program.instruction);
}

template <typename Part, typename... Variant>
static void addNumbers(std::vector<std::string> &cells, const Part &part, const Report &report, Variant... variant) {
  for (size_t point = 0; point < report.points.size(); ++point) {
    Totals totals = totalsOf(part, point, variant...);
    cells.push_back(prefixed(totals.flops));
    cells.push_back(prefixed(totals.bytes()));
    cells.push_back(intensity(totals));
  }
}

/// A line, or one for each variant: a call runs one of them.
static void addTotals(TextTable &table, const Report &report) {
  std::vector<std::string> cells = {"total", "", "", prefixed(report.weightBytes)};
  if (report.variants.empty()) {
    addNumbers(cells, report, report);
    return table.add(cells);
  }
  for (auto [number, variant] : enumerate(report.variants)) {
    cells = {"total of variant " + std::to_string(number), "", "", prefixed(variant.weightBytes)};
    addNumbers(cells, report, report, number);
    table.add(cells);
  }
}

/// A line per kernel: what it may be edited to, as the IR has it.
static void printPlans(const Report &report, raw_ostream &os) {
  TextTable table(/*textColumns=*/2);
  table.add({"kernel", "plan"});
  StringSet<> known;
  for (const LayerReport &layer : report.layers)
    for (const LaunchReport &launch : layer.launches)
      if (!launch.plan.empty() && known.insert(launch.kernel).second)
        table.add({launch.kernel, launch.plan});
  if (!known.empty())
    table.print(os << "\n");
}

/// A line per layer on several ranks: when it sends and multiplies, and what the simulator says of it.
static void printSchedules(const Report &report, raw_ostream &os) {
  if (report.schedules.empty())
    return;
  TextTable table(/*textColumns=*/1);
  table.add({"schedule", "estimate", "plain", "floor", "hidden"});
  for (const ScheduleReport &layer : report.schedules)
    if (layer.why.empty())
      table.add({report.titleOf(layer.name, layer.entry), durationText(layer.estimate), durationText(layer.plain),
                 durationText(layer.floor), std::to_string(std::lround(100 * layer.hidden)) + " %"});
    else
      table.add({report.titleOf(layer.name, layer.entry), "?", "?", "?", "?"});
  table.print(os << "\n");
  // One after the other, as most layers of a model are alike.
  StringRef last;
  for (const ScheduleReport &layer : report.schedules)
    if (layer.schedule != last) {
      os << report.titleOf(layer.name, layer.entry) << ": " << layer.schedule
         << (layer.why.empty() ? ", simulated for " + layer.machine : ", not simulated: " + layer.why) << "\n";
      last = layer.schedule;
    }
}

/// How the program is divided, beside the other ways.
static void printDivision(const Report &report, raw_ostream &os) {
  if (!report.division)
    return;
  TextTable table(/*textColumns=*/1);
  table.add({"parallel", "estimate", "exchanges", "memory"});
  auto add = [&](const DivisionReport &division) {
    if (division.why.empty())
      table.add({division.parallel, durationText(division.estimate), durationText(division.exchanged),
                 prefixed(int64_t(division.memory))});
  };
  add(report.division->chosen);
  ArrayRef<DivisionReport> all = report.division->alternatives;
  for (const DivisionReport &other : all.drop_front(all.empty() ? 0 : 1))
    add(other);
  table.print(os << "\n");
  os << report.division->chosen.parallel << ": estimated for " << report.division->machine << "\n";
}

void moe_mlir::printReportTable(const Report &report, raw_ostream &os) {
  if (!report.model.empty())
    os << "model " << forTerminal(report.model, /*isName=*/true) << "\n";
  if (!report.cpu.empty()) {
    os << "cpu " << report.cpu << ": register tile " << report.tileRows << "x" << report.tileColumns << ", vectors of "
       << report.vector << " f32" << (report.dotBf16 ? ", dot product of bf16" : "");
    if (report.matrixRows)
      os << ", matrix registers for " << report.matrixRows << " rows of bf16";
    os << "\n";
  }
  if (!report.gpu.empty())
    os << "gpu " << report.gpu << ": tile " << report.tileRows << "x" << report.tileColumns << " at most\n";
  for (auto [number, variant] : enumerate(report.variants))
    os << "variant " << number << ": " << forTerminal(variant.name, /*isName=*/true) << "\n";
  for (const ReportPoint &point : report.points) {
    os << point.name;
    for (auto [number, size] : enumerate(point.sizes))
      os << (number ? ", " : ": ") << forTerminal(size.first, /*isName=*/true) << " = " << size.second;
    os << "\n";
  }
  os << "\n";

  TextTable table(/*textColumns=*/3);
  std::vector<std::string> groups = {"", "", "", ""}, titles = {"layer", "kernel", "program", "weights"};
  for (const ReportPoint &point : report.points) {
    groups.insert(groups.end(), {"", "", point.name});
    titles.insert(titles.end(), {"FLOP", "bytes", "FLOP/B"});
  }
  table.add(groups);
  table.add(titles);
  for (const LayerReport &layer : report.layers) {
    std::vector<std::string> cells = {report.titleOf(layer.name, layer.entry), "", "", prefixed(layer.weightBytes)};
    addNumbers(cells, layer, report);
    table.add(cells);
    for (const LaunchReport &launch : layer.launches) {
      StringRef part = launch.module;
      part.consume_front(layer.name);
      part.consume_front(".");
      cells = {"  " + part.str(), launch.kernel, programText(launch.program), ""};
      addNumbers(cells, launch, report);
      table.add(cells);
    }
  }
  addTotals(table, report);
  table.print(os);
  if (!report.gpu.empty())
    printGpuTable(report, os << "\n");
  printPlans(report, os);
  printDivision(report, os);
  printSchedules(report, os);
  printExchanges(report, os);
  if (report.plain.empty())
    return;
  os << "\n";
  TextTable plain(/*textColumns=*/4);
  plain.add({"plain operations", "layer", "place", "step that does not match"});
  for (const mlir::moe::PlainLayer &layer : report.plain)
    plain.add({wordsOf(layer.kind, 1), layer.layer, layer.place, layer.why()});
  plain.print(os);
}
