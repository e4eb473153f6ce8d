//===- Scheduling.cpp - what --cluster and --schedule-tokens decide, and what is told of it -----------------------===//

#include "Compiler.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/LayerTimes.h"
#include "moe-mlir/Pipelines/Parallel.h"
#include "moe-mlir/Pipelines/Variants.h"

using namespace llvm;
using namespace moe_mlir;
using mlir::moe::ExpertOp;

static bool hasRanks(const std::string &parallel) {
  if (isAutoParallel(parallel))
    return true;
  std::string error;
  std::optional<ParallelSpec> spec = parseParallel(parallel, error);
  return spec && spec->ranks * spec->sharers() * spec->copies > 1;
}

/// Whether all layers have a schedule, and there are layers.
static bool isScheduled(mlir::ModuleOp module) {
  bool any = false, all = true;
  module.walk([&](ExpertOp op) {
    any = true;
    all = all && op.getSchedule();
  });
  return any && all;
}

std::string Compiler::schedulingFlag() const {
  return !options.cluster.empty() ? "--cluster" : options.scheduleTokens ? "--schedule-tokens" : "";
}

/// What it says of nodes that are between ranks and tokens, in the module or in a flag; empty if there are none.
static std::string nodesOf(mlir::ModuleOp module, mlir::MLIRContext &context, StringRef parallel, StringRef variants) {
  std::string found, error;
  module.walk([&](mlir::moe::DispatchOp op) {
    if (op.getTo() && op.getAt())
      found = "the program";
  });
  auto look = [&](const ParallelSpec &spec) {
    if (found.empty() && spec.isNested())
      found = "nodes=" + std::to_string(spec.nodes);
  };
  if (std::optional<ParallelSpec> spec = parseParallel(parallel, error))
    look(*spec);
  if (std::optional<std::vector<VariantSpec>> specs = parseVariants(&context, parallel, variants, error))
    for (const VariantSpec &spec : *specs)
      look(spec.parallel);
  return found;
}

int Compiler::checkWindows() {
  if (!options.windows)
    return kOk;
  std::string why;
  std::string error;
  std::optional<ParallelSpec> spec = parseParallel(options.parallel, error);
  if (input.level == Level::Graph && !hasRanks(options.parallel) && !(spec && spec->tensors > 1))
    why = "--windows is for what ranks share, and this program has one; add --parallel=ep=N";
  else if (input.level >= Level::Scheduled)
    why = "--windows cuts exchanges on the way to level scheduled; '" + options.input + "' is at level " +
          levelName(input.level).str() + " already, where 'kernel.pass_tokens' says it";
  else if (std::string nodes = nodesOf(*input.module, context, options.parallel, variantTexts()); !nodes.empty())
    why = "--windows cuts single exchanges into passes, and " + nodes +
          " has two, one inside of the other; leave one of them out";
  if (why.empty())
    return kOk;
  console.error(why);
  return kUserError;
}

int Compiler::checkScheduling() {
  const std::string flag = schedulingFlag();
  auto refuse = [&](const Twine &why) {
    console.error(flag + why);
    return kUserError;
  };
  if (flag.empty())
    return kOk;
  if (input.level == Level::Graph && !hasRanks(options.parallel))
    return refuse(Twine(options.cluster.empty() ? " is a number of tokens of all ranks" : " says what connects ranks") +
                  ", and this program has one; " +
                  (options.parallel.empty() ? "add --parallel=ep=N" : "--parallel=ep=N asks for more"));
  if (input.level > Level::Scheduled)
    return refuse(" decides and times the schedules of level scheduled; '" + options.input + "' is at level " +
                  levelName(input.level) + " already");
  if (!options.report && (input.level == Level::Scheduled || isScheduled(*input.module)))
    return refuse(" decides the schedules of layers that have none, and '" + options.input +
                  "' says those of all its layers; with --report it would tell how long they take");
  return kOk;
}

/// Level scheduled has the layers that the report gives times of; behind it there are kernels only.
void Compiler::reviewSchedules() {
  const SchedulingOptions scheduling{cluster, options.scheduleTokens};
  // Those that a division was chosen by had an effect.
  if (const std::string flag = schedulingFlag(); !flag.empty() && !isAutoParallel(options.parallel))
    if (const std::string what = whyNothingScheduled(*input.module, scheduling, options.report.has_value());
        !what.empty())
      console.warning(flag + " has no effect on " + what);
  if (!options.report)
    return;
  for (LayerTimes &times : timesOfLayers(*input.module, scheduling))
    schedules.push_back({std::move(times.layer), std::move(times.entry), std::move(times.schedule),
                         std::move(times.machine), times.seconds, times.plain, times.floor, times.hidden,
                         std::move(times.why)});
}
