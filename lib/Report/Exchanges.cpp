//===- Exchanges.cpp - what ranks share, and what runs at the same time -------------------------------------------===//
//
// COMET has one buffer of M x N elements that all layers share: M tokens of all ranks, N the width of a token. Here the
// window "rows" has that many, if all ranks have as many tokens, and stands beside that of the sums, ids and flags.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Exchanges.h"
#include "TextTable.h"

#include "moe-mlir/Conversion/KernelToCuda/Groups.h"
#include "moe-mlir/Dialect/Kernel/IR/TokenPasses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace moe_mlir;

/// As kernel-plan-windows rounds.
static constexpr int64_t kAlignment = 64;
/// A buffer that takes more of a GPU's memory is worth a line.
static constexpr double kLargeShare = 0.1;
/// Bytes of an element of COMET's buffer.
static constexpr int64_t kPublishedBytes = 2;

std::vector<BufferCounts> moe_mlir::buffersOf(func::FuncOp function, HostSizes &sizes, SizeTable &table) {
  std::vector<BufferCounts> buffers;
  std::set<std::tuple<std::string, std::string, std::string, std::string>> known;
  HostSizes whole(function, table, /*isWhole=*/true);
  function.walk([&](kernel::WindowOp window) {
    kernel::WindowType type = window.getWindow().getType();
    const SizeExpr rows = sizes.size(window.getWindow(), 0);
    std::string grid = window.getGrid().str(), name = window.getName().str(), elements;
    llvm::raw_string_ostream(elements) << type;
    // "!kernel.window<?x64xbf16>"
    StringRef shape = StringRef(elements).split('<').second.drop_back();
    if (!known.insert({grid, name, shape.str(), table.toString(rows)}).second)
      return;
    auto buffer = llvm::find_if(buffers, [&](const BufferCounts &each) { return each.grid == grid; });
    if (buffer == buffers.end())
      buffer = buffers.insert(buffers.end(), {function.getSymName().str(), grid, {}, 0, 0});
    SizeExpr bytes = rows * type.getRowBytes();
    if (type.getRowBytes() % kAlignment)
      bytes = table.floorDiv(bytes + (kAlignment - 1), kAlignment) * kAlignment;
    buffer->bytes = buffer->bytes + bytes;
    if ((name == "rows" || StringRef(name).starts_with("rows ")) && type.getShape().size() == 2)
      buffer->published =
          table.max(buffer->published, whole.size(window.getWindow(), 0) * type.getShape()[1] * kPublishedBytes);
    buffer->windows.push_back({std::move(name), shape.str(), bytes});
  });
  // Where they are planned, the plan says it, and no names any more.
  function.walk([&](kernel::WindowsOp windows) {
    buffers.push_back({function.getSymName().str(), windows.getGrid().str(), {}, sizes.scalar(windows.getBytes()), 0});
  });
  return buffers;
}

std::vector<PassCounts> moe_mlir::passesOf(func::FuncOp function, HostSizes &sizes) {
  std::vector<PassCounts> all;
  function.walk([&](scf::ForOp loop) {
    if (!kernel::asPasses(loop))
      return;
    PassCounts counts{function.getSymName().str(), "", 0, sizes.scalar(loop.getUpperBound())};
    loop.walk([&](kernel::LaunchOp launch) {
      if (auto phase = launch->getAttrOfType<StringAttr>("moe.phase"); phase && counts.layer.empty())
        counts.layer = phase.getValue().rsplit(": ").first.str();
    });
    // Tokens are counted from the first one of a pass.
    for (Operation *user : loop.getInductionVar().getUsers())
      if (auto first = dyn_cast<arith::MulIOp>(user))
        counts.tokens = getConstantIntValue(first.getRhs()).value_or(0);
    all.push_back(std::move(counts));
  });
  return all;
}

std::vector<GroupReport> moe_mlir::groupsOf(func::FuncOp function, int64_t multiprocessors) {
  std::vector<GroupReport> groups;
  function.walk([&](kernel::LaunchGroupOp group) {
    SmallVector<int64_t> blocks = kernel::divideBlocks(group, multiprocessors);
    const int64_t left = multiprocessors - llvm::sum_of(blocks);
    GroupReport &own = groups.emplace_back();
    own.entry = function.getSymName().str();
    for (auto [launch, count] : llvm::zip(group.getMembers(), blocks)) {
      if (auto phase = launch->getAttrOfType<StringAttr>("moe.phase"); phase && own.phase.empty())
        own.phase = phase.str();
      own.members.push_back({launch.getKernel().str(), count ? count : std::max<int64_t>(left, 1),
                             static_cast<int64_t>(launch.getPhases().value_or(1))});
    }
  });
  return groups;
}

static std::string bytesText(std::optional<int64_t> bytes) {
  return !bytes ? "?" : *bytes < 1000 ? std::to_string(*bytes) : prefixed(double(*bytes));
}

static void printGroups(const Report &report, llvm::raw_ostream &os) {
  TextTable table(/*textColumns=*/2);
  table.add({"at the same time", "kernel", "blocks", "phases"});
  for (const GroupReport &group : report.groups) {
    std::string name = group.phase;
    for (const GroupReport::Member &member : group.members) {
      table.add({name, member.kernel, std::to_string(member.blocks), std::to_string(member.phases)});
      name.clear();
    }
  }
  if (!report.groups.empty())
    table.print(os << "\n");
}

static void printBuffer(const Report &report, const BufferReport &buffer, llvm::raw_ostream &os) {
  TextTable table(/*textColumns=*/2);
  auto add = [&](std::string name, std::string type, const Quantity &bytes) {
    std::vector<std::string> cells = {std::move(name), std::move(type)};
    for (std::optional<int64_t> value : bytes.values)
      cells.push_back(bytesText(value));
    table.add(std::move(cells));
  };
  std::vector<std::string> titles = {"bytes on each rank of @" + buffer.grid, "window"};
  for (const ReportPoint &point : report.points)
    titles.push_back(point.name);
  table.add(std::move(titles));
  for (const BufferReport::Window &window : buffer.windows)
    add("  " + window.name, window.type, window.bytes);
  add("symmetric buffer of " + report.titleOf(buffer.entry, buffer.entry), "", buffer.bytes);
  if (buffer.published.expression != "0")
    add("COMET's: 2 M N", "", buffer.published);
  table.print(os << "\n");
  for (auto [point, bytes] : llvm::zip(report.points, buffer.bytes.values))
    if (report.device && bytes && double(*bytes) > kLargeShare * report.device->memoryBytes)
      os << point.name << ": the buffer takes " << std::lround(100 * double(*bytes) / report.device->memoryBytes)
         << " % of the memory of an " << report.device->name
         << "; --windows=BYTES cuts exchanges into passes, and sums=bf16 takes less\n";
}

static void printPasses(const Report &report, llvm::raw_ostream &os) {
  TextTable table(/*textColumns=*/1);
  std::vector<std::string> titles = {"passes", "tokens of each rank"};
  for (const ReportPoint &point : report.points)
    titles.push_back(point.name);
  table.add(std::move(titles));
  for (const PassReport &own : report.passes) {
    std::vector<std::string> cells = {report.titleOf(own.layer, own.entry), std::to_string(own.tokens)};
    for (std::optional<int64_t> value : own.passes.values)
      cells.push_back(value ? std::to_string(*value) : "?");
    table.add(std::move(cells));
  }
  if (!report.passes.empty())
    table.print(os << "\n");
}

void moe_mlir::printExchanges(const Report &report, llvm::raw_ostream &os) {
  printGroups(report, os);
  printPasses(report, os);
  for (const BufferReport &buffer : report.buffers)
    printBuffer(report, buffer, os);
}
