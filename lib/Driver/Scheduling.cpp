//===- Scheduling.cpp - what --cluster and --schedule-tokens decide, and what is told of it -----------------------===//

#include "Compiler.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Pipelines/LayerTimes.h"
#include "moe-mlir/Pipelines/Parallel.h"

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

int Compiler::checkWindows() {
  if (!options.windows)
    return kOk;
  std::string why;
  if (input.level == Level::Graph && !hasRanks(options.parallel))
    why = "--windows is for what ranks share, and this program has one; add --parallel=ep=N";
  else if (input.level >= Level::Scheduled)
    why = "--windows cuts exchanges on the way to level scheduled; '" + options.input + "' is at level " +
          levelName(input.level).str() + " already, where 'kernel.pass_tokens' says it";
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
