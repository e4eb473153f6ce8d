//===- LayerTimes.cpp - what layers of several ranks take, by the simulator ---------------------------------------===//

#include "moe-mlir/Pipelines/LayerTimes.h"

#include "RankStrides.h"

#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Moe/IR/LayerName.h"
#include "moe-mlir/Schedule/Decisions.h"
#include "moe-mlir/Simulation/ProgramLayer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace moe_mlir;

llvm::Error moe_mlir::checkCluster(StringRef spec) {
  if (spec.empty())
    return llvm::Error::success();
  // It becomes an option in the text of a pipeline.
  if (spec.find_first_of("\"'{}") != StringRef::npos)
    return llvm::createStringError("a cluster is a name, or that of a file without quotes and braces");
  return sim::findCluster(spec, sim::clusterFolder()).takeError();
}

/// The machine that all of a program's ranks are taken to share, if nothing says what connects them.
static llvm::Expected<sim::Cluster> oneHost(int64_t ranks) {
  llvm::Expected<sim::Cluster> host = sim::findCluster("cpu", sim::clusterFolder());
  if (host)
    host->ranksPerNode = ranks;
  return host;
}

/// The cluster of a layer of the `ranks` ranks of `grid`.
static llvm::Expected<sim::Cluster> clusterOf(ModuleOp module, FlatSymbolRefAttr grid, int64_t ranks, StringRef spec) {
  std::string name = spec.str();
  if (spec.empty()) {
    auto gpu = dyn_cast_or_null<cuda::TargetAttr>(kernel::targetOf(module));
    if (!gpu) {
      const RankStrides grids(module);
      llvm::Expected<sim::Cluster> host = oneHost(grids.all);
      return host ? host->along(grids.of(grid.getValue()).stride, ranks) : std::move(host);
    }
    name = gpu.getNumbers().key.str();
  }
  if (!sim::saysRanks(name))
    name = std::to_string(ranks) + "x" + name;
  llvm::Expected<sim::Cluster> cluster = sim::findCluster(name, sim::clusterFolder());
  if (!cluster || cluster->ranks() == ranks)
    return cluster;
  if (const RankStrides grids(module); cluster->ranks() == grids.all)
    return cluster->along(grids.of(grid.getValue()).stride, ranks);
  // Another number would be that of another variant.
  const bool hasVariants = llvm::any_of(module.getOps<func::FuncOp>(), [](auto func) { return moe::variantOf(func); });
  return llvm::createStringError("the layer has " + Twine(ranks) + " ranks, the cluster " + Twine(cluster->ranks()) +
                                 "; --cluster=" + (hasVariants ? "NAME is for as many as each variant has"
                                                               : Twine(ranks) + "xNAME"));
}

llvm::Expected<sim::Setup> moe_mlir::setupOf(moe::ExpertOp op, const SchedulingOptions &options, bool &isFault) {
  isFault = false;
  auto dispatch = op.getLayout().getDefiningOp<moe::DispatchOp>();
  if (!dispatch || !dispatch.getAt())
    return llvm::createStringError("the layer does not communicate, there is nothing to overlap");
  llvm::Expected<sim::ProgramLayer> layer = sim::layerOf(op);
  if (!layer)
    return layer.takeError();
  auto cluster = clusterOf(op->getParentOfType<ModuleOp>(), dispatch.getAtAttr(), layer->ranks, options.cluster);
  if (!cluster) {
    isFault = !options.cluster.empty();
    return cluster.takeError();
  }
  sim::Setup setup;
  setup.cluster = *cluster;
  setup.layer = layer->layer;
  if (options.tokens)
    setup.layer.tokens = llvm::divideCeil(options.tokens, layer->ranks);
  else if (!setup.layer.tokens)
    setup.layer.tokens = kScheduledTokens;
  if (llvm::Error error = sim::takeNodes(setup, layer->nodes)) {
    isFault = !options.cluster.empty();
    return error;
  }
  sim::cutIntoPasses(setup, layer->passTokens);
  // Slices share blocks of columns; without tiles there is one slice.
  setup.blocks = 1;
  if (kernel::hasTiles(op)) {
    const int64_t columns = cast<ShapedType>(op.getWOut().getType()).getDimSize(1);
    const int64_t block = kernel::tilesOf(op, 1).blockColumns;
    setup.blocks = columns % block ? 1 : columns / block;
  }
  if (llvm::Error error = sim::checkLayer(setup.layer, layer->ranks))
    return error;
  return setup;
}

std::string moe_mlir::describeMachine(const sim::Setup &setup) {
  return std::to_string(setup.cluster.ranks()) + " x " + setup.cluster.name + ", " +
         (setup.passes > 1 ? std::to_string(setup.passes) + " passes of " : "") + std::to_string(setup.layer.tokens) +
         " tokens of each";
}

LayerTimes moe_mlir::timesOf(const sim::Setup &setup, const sim::Schedule &schedule) {
  const sim::Run run = sim::simulate(setup, schedule);
  const sim::Summary summary = sim::summarize(setup, run);
  LayerTimes times;
  times.schedule = sim::toString(schedule);
  times.machine = describeMachine(setup);
  times.seconds = run.seconds * setup.passes;
  times.plain = summary.plain * setup.passes;
  times.floor = summary.bound * setup.passes;
  const double legs = summary.out + summary.back;
  times.hidden = legs > 0 ? summary.hidden / legs : 0;
  return times;
}

std::vector<LayerTimes> moe_mlir::timesOfLayers(ModuleOp module, const SchedulingOptions &options) {
  std::vector<LayerTimes> all;
  module.walk([&](moe::ExpertOp op) {
    bool isFault;
    llvm::Expected<sim::Setup> setup = setupOf(op, options, isFault);
    if (!op.getSchedule())
      return llvm::consumeError(setup.takeError());
    const sim::Schedule schedule = sim::scheduleOf(op.getScheduleAttr());
    llvm::Error error = setup ? sim::checkSchedule(*setup, schedule) : setup.takeError();
    // What neither overlaps nor was asked for is not worth a line.
    if (error && !op.getScheduleAttr().overlaps())
      return llvm::consumeError(std::move(error));
    LayerTimes times;
    if (error) {
      times.schedule = sim::toString(schedule);
      times.why = llvm::toString(std::move(error));
    } else {
      times = timesOf(*setup, schedule);
    }
    times.layer = moe::layerName(op);
    if (auto function = op->getParentOfType<FunctionOpInterface>())
      times.entry = function.getName().str();
    all.push_back(std::move(times));
  });
  return all;
}

/// Nothing, or why no other schedule is found for the layer.
static std::string whyNotScheduled(moe::ExpertOp op, const SchedulingOptions &options, bool areTimed) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto variant = function ? moe::variantOf(function) : moe::VariantAttr();
  if (!areTimed && variant && variant.getSchedule())
    return "variant '" + variant.getName().str() + "' says its schedule";
  bool isFault;
  llvm::Expected<sim::Setup> setup = setupOf(op, options, isFault);
  if (!setup)
    return llvm::toString(setup.takeError());
  const std::string why = kernel::whyNeverOverlapped(op);
  return why.empty() ? "" : "it " + why;
}

std::string moe_mlir::whyNothingScheduled(ModuleOp module, const SchedulingOptions &options, bool areTimed) {
  std::string first, why;
  int64_t others = -1;
  WalkResult result = module.walk([&](moe::ExpertOp op) {
    const std::string reason = whyNotScheduled(op, options, areTimed);
    if (reason.empty())
      return WalkResult::interrupt();
    if (++others == 0) {
      first = "layer '" + moe::layerName(op) + "'";
      why = reason;
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return "";
  if (first.empty())
    return "a program without MoE layers";
  return first + (others ? " and " + std::to_string(others) + (others > 1 ? " others" : " other") : "") + ": " + why;
}
