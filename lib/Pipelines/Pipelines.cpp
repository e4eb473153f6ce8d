//===- Pipelines.cpp - one pipeline per arrow between levels ------------------------------------------------------===//

#include "moe-mlir/Pipelines/Pipelines.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace moe_mlir;

std::string moe_mlir::importPipeline() { return "import-to-graph,moe-verify-level{level=graph}"; }

std::string moe_mlir::arrowPipeline(Level level, const PipelineOptions &options) {
  std::string setTarget = "kernel-set-target{" + (options.target.empty() ? "" : "target=" + options.target) + "}";
  // The name of a file may have blanks.
  std::string variants = options.variants.empty() ? "" : " variants=\"" + options.variants + "\"";
  std::string partition =
      "moe-partition" + (options.parallel.empty() ? "" : "{parallel=\"" + options.parallel + "\"" + variants + "}");
  std::string schedule = "moe-schedule{" + (options.cluster.empty() ? "" : "cluster=\"" + options.cluster + "\" ") +
                         "tokens=" + std::to_string(options.scheduleTokens) + "}";
  // Text of each level may be edited: what passes rely on is checked in front of them as well.
  switch (level) {
  case Level::Graph:
    return "moe-verify-level{level=graph}," + partition + ",moe-verify-level{level=spmd},moe-set-level{level=spmd}";
  case Level::Spmd:
    return "moe-verify-level{level=spmd}," + setTarget +
           ",graph-to-scheduled,graph-cut-exchanges{windows=" + std::to_string(options.windows) + "}," +
           schedule + ",moe-verify-level{level=scheduled},moe-set-level{level=scheduled}";
  case Level::Scheduled:
    return setTarget + ",moe-verify-level{level=scheduled},scheduled-to-kernel,moe-verify-level{level=kernel}";
  case Level::Kernel:
    // What grids mean is not checked behind this level.
    return "moe-verify-level{level=kernel},kernel-to-runtime,moe-verify-level{level=runtime}";
  case Level::Runtime:
    break;
  }
  llvm_unreachable("nothing follows the last level");
}

LogicalResult moe_mlir::buildArrow(OpPassManager &pm, Level level, const PipelineOptions &options) {
  return parsePassPipeline(arrowPipeline(level, options), pm);
}

namespace {
struct ArrowOptions : PassPipelineOptions<ArrowOptions> {
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("'cpu', 'cpu:NAME' by LLVM's name of a CPU, or a GPU as 'cuda:h200'; "
                                            "without it the module's 'kernel.target' decides, and this machine if it "
                                            "has none"),
                             llvm::cl::init("")};
};

struct ScheduleOptions : PassPipelineOptions<ScheduleOptions> {
  Option<std::string> target{*this, "target", llvm::cl::desc("as of the other arrows"), llvm::cl::init("")};
  Option<std::string> cluster{*this, "cluster",
                              llvm::cl::desc("what schedules of layers of several ranks are decided for: 'NAME' or "
                                             "'8xNAME' of data/clusters, or a file"),
                              llvm::cl::init("")};
  Option<int64_t> tokens{*this, "schedule-tokens", llvm::cl::desc("and for how many tokens of all ranks together"),
                         llvm::cl::init(0)};
  Option<int64_t> windows{*this, "windows", llvm::cl::desc("bytes that windows of a rank may take"), llvm::cl::init(0)};
};

struct PartitionOptions : PassPipelineOptions<PartitionOptions> {
  Option<std::string> parallel{*this, "parallel",
                               llvm::cl::desc("ranks that share the experts, as in 'ep=4,tokens=split,groups=8'"),
                               llvm::cl::init("")};
  Option<std::string> variants{*this, "variants",
                               llvm::cl::desc("other ways to divide it among as many ranks, with ';' between them"),
                               llvm::cl::init("")};
};
} // namespace

static PipelineOptions optionsOf(const ArrowOptions &options) { return {options.target}; }
static PipelineOptions optionsOf(const PartitionOptions &options) {
  PipelineOptions result{"", options.parallel};
  result.variants = options.variants;
  return result;
}
static PipelineOptions optionsOf(const ScheduleOptions &options) {
  return {options.target, "", options.cluster, options.tokens, options.windows};
}

template <Level level, typename Options> static void registerArrow() {
  const Level next = static_cast<Level>(static_cast<int>(level) + 1);
  static const std::string name = ("moe-" + levelName(level) + "-to-" + levelName(next)).str();
  static const std::string text = ("From level " + levelName(level) + " to level " + levelName(next)).str();
  PassPipelineRegistration<Options>(name, text, [](OpPassManager &pm, const Options &options) {
    if (failed(buildArrow(pm, level, optionsOf(options))))
      llvm::report_fatal_error("a pass of this pipeline is not registered, or does not take its options");
  });
}

void moe_mlir::registerArrowPipelines() {
  registerArrow<Level::Graph, PartitionOptions>();
  registerArrow<Level::Spmd, ScheduleOptions>();
  registerArrow<Level::Scheduled, ArrowOptions>();
  registerArrow<Level::Kernel, ArrowOptions>();
}
