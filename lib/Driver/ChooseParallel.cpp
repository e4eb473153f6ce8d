//===- ChooseParallel.cpp - what --parallel=auto decides, and what is told of it ----------------------------------===//

#include "Compiler.h"

using namespace llvm;
using namespace moe_mlir;

static DivisionReport reportOf(const Alternative &alternative) {
  const ProgramCost &cost = alternative.cost;
  return {alternative.text, cost.seconds, cost.exchanged, cost.memory(), alternative.why};
}

/// "2 x cpu, a call of 8 tokens".
static std::string describeCall(const sim::Cluster &cluster, int64_t tokens, int64_t batch) {
  return std::to_string(cluster.ranks()) + " x " + cluster.name +
         (tokens ? ", a call of " + std::to_string(tokens) + " tokens" : "") +
         (tokens && batch > 1 ? " in " + std::to_string(batch) + " sequences" : "");
}

void Compiler::describeChoice(ArrayRef<Alternative> all) {
  if (options.verbose)
    for (const Alternative &alternative : all)
      console.remark(alternative.why.empty()
                         ? "[Analysis] Parallel: " + alternative.text + ": " + describe(alternative.cost)
                         : "[Missed] Parallel: " + alternative.text + ": " + alternative.why);
  const size_t taken = count_if(all, [](const Alternative &each) { return each.why.empty(); });
  if (!options.quiet)
    console.note("--parallel=" + parallel + ": " + describe(all.front().cost) + "; the best of " + Twine(taken) +
                 " ways to divide the program");
}

bool Compiler::choosesParallel() const {
  return input.level == Level::Graph && options.variants.empty() && isAutoParallel(options.parallel);
}

int Compiler::chooseParallel() {
  const bool isChosen = choosesParallel();
  if (input.level != Level::Graph || parallel.empty() || !options.variants.empty() ||
      (!isChosen && (!options.report || cluster.empty())))
    return kOk;
  std::string error; // the command line has been checked
  const AutoParallel wanted = *parseAutoParallel(isChosen ? parallel : "auto," + parallel, error);
  Expected<sim::Cluster> machine = clusterToDivide(wanted, gpu, cluster);
  if (!isChosen) {
    // A report tells what the division takes if the cluster has as many ranks; otherwise it tells of schedules alone.
    cluster = options.cluster;
    Expected<ProgramCost> cost =
        machine ? costOfParallel(*input.module, parallel, *machine, {options.scheduleTokens, 1})
                : Expected<ProgramCost>(machine.takeError());
    remarks.discard();
    if (cost)
      division = ParallelReport{describeCall(*machine, options.scheduleTokens, 1), reportOf({parallel, *cost, ""}), {}};
    else
      consumeError(cost.takeError());
    return kOk;
  }
  auto refuse = [&](Error fault) {
    console.error("--parallel=" + options.parallel + ": " + toString(std::move(fault)));
    return kUserError;
  };
  if (!machine)
    return refuse(machine.takeError());
  console.begin("choose how to divide");
  Expected<std::vector<Alternative>> all =
      compareAlternatives(*input.module, wanted, *machine, options.scheduleTokens);
  remarks.discard();
  if (!all)
    return refuse(all.takeError());
  console.end();
  parallel = all->front().text;
  describeChoice(*all);
  if (!options.report)
    return kOk;
  division = ParallelReport{describeCall(*machine, options.scheduleTokens, wanted.batch), reportOf(all->front()), {}};
  for (const Alternative &alternative : *all)
    division->alternatives.push_back(reportOf(alternative));
  return kOk;
}
