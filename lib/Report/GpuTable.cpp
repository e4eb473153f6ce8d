//===- GpuTable.cpp - what kernels are on a GPU, for people -------------------------------------------------------===//

#include "GpuTable.h"
#include "TextTable.h"
#include "Totals.h"

using namespace llvm;
using namespace moe_mlir;

/// "989 TFLOP/s".
static std::string rateText(double rate, const char *unit) {
  std::string text = prefixed(rate);
  text.insert(text.end() - 1, ' ');
  return text + unit;
}

/// "256", or "128 load, 256 multiply".
static std::string threadsText(const GpuKernel &kernel) {
  std::string text;
  for (const GpuKernel::Role &role : kernel.roles)
    text += (text.empty() ? "" : ", ") + std::to_string(role.threads) + " " + role.name;
  return text.empty() ? std::to_string(kernel.threads) : text;
}

template <typename Part> static void addTimes(std::vector<std::string> &cells, const Part &part, const Report &report) {
  for (size_t point = 0; point < report.points.size(); ++point) {
    Totals totals = totalsOf(part, point);
    cells.push_back(durationText(totals.estimate));
    cells.push_back(durationText(totals.floor));
  }
}

static std::vector<std::string> cellsOf(const LaunchReport &launch) {
  if (!launch.gpu)
    return {"  " + launch.kernel, "no CUDA form", "", "", "", "", ""};
  const GpuKernel &kernel = *launch.gpu;
  const bool isProduct = kernel.tileRows != 0;
  return {"  " + launch.kernel,
          isProduct ? std::to_string(kernel.tileRows) + "x" + std::to_string(kernel.tileColumns) : "",
          threadsText(kernel),
          isProduct ? std::to_string(kernel.stages) : "",
          std::to_string(kernel.blocksPerMultiprocessor),
          std::to_string(kernel.sharedBytes / 1024) + " KiB",
          kernel.registers ? std::to_string(*kernel.registers) : "?"};
}

/// A line per point of each launch with an estimate: what the estimate is made of, so that a measurement can be held
/// against each part.
static void printTerms(const Report &report, raw_ostream &os) {
  // Products and row programs have terms of their own: each name is a column, in the order in which they come up.
  std::vector<std::string> names;
  auto eachEstimate = [&](auto use) {
    for (const LayerReport &layer : report.layers)
      for (const LaunchReport &launch : layer.launches)
        if (launch.gpu)
          for (auto [point, terms] : zip(report.points, launch.gpu->terms))
            if (!terms.empty())
              use(launch, point.name, terms);
  };
  eachEstimate([&](const LaunchReport &, const std::string &, const std::vector<GpuTerm> &terms) {
    for (const GpuTerm &term : terms)
      if (!is_contained(names, term.name))
        names.push_back(term.name);
  });
  if (names.empty())
    return;
  TextTable table(/*textColumns=*/2);
  std::vector<std::string> titles = {"parts of each estimate", ""};
  titles.insert(titles.end(), names.begin(), names.end());
  table.add(titles);
  eachEstimate([&](const LaunchReport &launch, const std::string &point, const std::vector<GpuTerm> &terms) {
    std::vector<std::string> cells = {launch.kernel, point};
    for (const std::string &name : names) {
      const auto term = find_if(terms, [&](const GpuTerm &each) { return each.name == name; });
      cells.push_back(term == terms.end() ? "" : durationText(term->seconds));
    }
    table.add(cells);
  });
  table.print(os << "\n");
}

void moe_mlir::printGpuTable(const Report &report, raw_ostream &os) {
  if (const CudaDevice *device = report.device)
    os << "times of a model, not measured: " << device->name << ", at least operations at "
       << rateText(device->flopsPerSecond(), "FLOP/s")
       << " (f32: " << rateText(device->vectorFlopsPerSecond(), "FLOP/s") << ") or bytes at "
       << rateText(device->memoryBytesPerSecond, "B/s") << "\n\n";
  TextTable table(/*textColumns=*/3);
  std::vector<std::string> groups(7),
      titles = {"layer", "tile", "threads", "stages", "blocks/SM", "shared", "registers"};
  for (const ReportPoint &point : report.points) {
    groups.insert(groups.end(), {"", point.name});
    titles.insert(titles.end(), {"estimate", "at least"});
  }
  table.add(groups);
  table.add(titles);
  for (const LayerReport &layer : report.layers) {
    std::vector<std::string> cells = {layer.name, "", "", "", "", "", ""};
    addTimes(cells, layer, report);
    table.add(cells);
    for (const LaunchReport &launch : layer.launches) {
      cells = cellsOf(launch);
      addTimes(cells, launch, report);
      table.add(cells);
    }
  }
  std::vector<std::string> cells = {"total", "", "", "", "", "", ""};
  addTimes(cells, report, report);
  table.add(cells);
  table.print(os);
  printTerms(report, os);
}
