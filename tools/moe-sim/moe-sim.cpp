//===- moe-sim.cpp - how long a MoE layer takes on a cluster ------------------------------------------------------===//

#include "ReadLayers.h"

#include "moe-mlir/Simulation/Output.h"
#include "moe-mlir/Simulation/Predictions.h"
#include "moe-mlir/Simulation/Published.h"
#include "moe-mlir/Simulation/Solve.h"
#include "moe-mlir/Support/FatalErrors.h"
#include "moe-mlir/Support/FilePlan.h"
#include "moe-mlir/Support/TerminalText.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

#include <unistd.h>

using namespace llvm;
using namespace moe_mlir;
using namespace moe_mlir::sim;

static constexpr StringLiteral kOverview = R"(
moe-sim: how long a MoE layer takes on several GPUs or hosts of CPUs, before there is one

  moe-sim --layer=qwen3-30b --cluster=8xH200 --tokens=65536 --solve
                                        the best schedule, its timeline, bytes per link, what bounds it
  moe-sim ir/2_scheduled.mlir --cluster=8xH800 --tokens=16384 --plot=t.svg --trace=t.json
                                        the layers of a program, as a picture and a trace for Perfetto
  moe-sim --layer=mixtral-8x7b,gated=no --cluster=8xH800 --tokens=16384 \
    --schedule='overlap, chunk=128, order=source, steps=[1,3,4], piece=256, send=12, slices=8, return=20'
  moe-sim --layer=experts=64,top-k=8,hidden=2048,ffn=1024 --cluster=my.json --tokens=4096 --systems
                                        beside the schedules of COMET and Tutel
  moe-sim --predictions                 published times beside the model's, as in docs/Simulation.md
  moe-sim --fit                         the model's fitted constants, from the five times that they are fitted to

A schedule is plain, parts = N (Tutel's degree), or an overlap: `chunk` rows per flag; `steps` of sources whose rows are
multiplied together, own rows first; `piece` rows wait together; `send` blocks send rows while the others multiply; sums
return in `slices` of columns by `return` blocks. Threads of a CPU do all of that in turns: piece, send and return may be
left out. Everything printed is simulated: nothing runs.
)";

static cl::OptionCategory category("Options");
static cl::opt<std::string> inputFile(cl::Positional, cl::desc("[module.mlir | -]"), cl::cat(category));
static cl::opt<std::string>
    layerText("layer", cl::value_desc("layer"), cl::cat(category),
              cl::desc("A layer by name, by sizes (experts=N,top-k=N,hidden=N,ffn=N,gated=yes|no), or both"));
static cl::opt<std::string> clusterText("cluster", cl::value_desc("[N x]NAME | FILE.json"), cl::cat(category),
                                        cl::desc("N ranks of a described machine, 8xH800; without N one node"));
static cl::opt<int64_t> tokens("tokens", cl::value_desc("N"), cl::cat(category), cl::init(0),
                               cl::desc("Tokens of all ranks together"));
static cl::opt<std::string> scheduleText("schedule", cl::value_desc("<..>"), cl::cat(category),
                                         cl::desc("The schedule; default: the program's, or plain"));
static cl::opt<bool> solveIt("solve", cl::cat(category), cl::desc("Find the schedule that takes the least time"));
static cl::opt<std::string>
    exchange("exchange", cl::value_desc("kind"), cl::cat(category), cl::init("flat"),
             cl::desc("flat (default), nested (between nodes, then within one), or best with --solve"));
static cl::opt<std::string> sums("sums", cl::value_desc("type"), cl::cat(category), cl::init("f32"),
                                 cl::desc("Sums on their way back: f32 (default), or bf16, which rounds them once"));
static cl::opt<std::string>
    putKind("puts", cl::value_desc("kind"), cl::cat(category), cl::init("bulk"),
         cl::desc("How blocks reach other ranks: bulk copies (default), or stores of their threads"));
static cl::opt<double> shareStd("share-std", cl::value_desc("X"), cl::cat(category), cl::init(0),
                                cl::desc("Standard deviation of the ranks' shares of tokens; 0: equal shares"));
static cl::opt<std::string> plotFile("plot", cl::value_desc("file.svg"), cl::cat(category),
                                     cl::desc("Draw the timeline"));
static cl::opt<std::string> traceFile("trace", cl::value_desc("file.json"), cl::cat(category),
                                      cl::desc("Write the timeline for Perfetto"));
static cl::opt<bool> systems("systems", cl::cat(category), cl::desc("Simulate published systems on the layer, too"));
static cl::opt<bool> predictions("predictions", cl::cat(category), cl::desc("Compare the model with published times"));
static cl::opt<bool> fitIt("fit", cl::cat(category), cl::desc("Fit the model's constants again"));

/// Of all ranks together.
static constexpr int64_t kMostTokens = int64_t(1) << 32;

static int failed(const Twine &text) {
  errs() << "moe-sim: error: " << text << "\n";
  return EXIT_FAILURE;
}
static int failed(Error error) { return failed(toString(std::move(error))); }

/// Writes a file that appears only if all of it could be written.
static Error writeFile(StringRef path, function_ref<void(raw_ostream &)> write) {
  std::error_code code;
  ToolOutputFile file(path, code, sys::fs::OF_Text);
  if (!code) {
    write(file.os());
    file.os().flush();
    code = file.os().error();
    file.os().clear_error();
  }
  if (code)
    return createStringError("cannot write '" + printablePath(path) + "': " + code.message());
  file.keep();
  return Error::success();
}

/// What others would take, on one node.
static void printSystems(const Setup &setup) {
  const Layer &layer = setup.layer;
  const int64_t ranks = setup.cluster.ranks();
  outs() << "\npublished systems, products as fast as theirs\n";
  auto line = [](StringRef name, double seconds, const Twine &text) {
    outs() << left_justify(name, 10) << formatv("{0:f1} us", seconds * 1e6) << text << "\n";
  };
  if (setup.cluster.nodes == 1) {
    const FluxLayer flux{layer.tokens * ranks, layer.hidden, layer.ffn,  layer.experts, layer.topK, 1,
                         ranks,                layer.gated};
    const int64_t blocks = bestBlocks(setup.cluster, setup.constants, flux);
    line("COMET", fluxSeconds(setup.cluster, setup.constants, flux, blocks),
         ", " + Twine(blocks) + " blocks for communication");
  }
  const TutelLayer tutel{layer.tokens, layer.hidden,
                         layer.ffn,    layer.topK,
                         double(layer.experts) / double(ranks), layer.elementBytes};
  for (int64_t degree : {1, 2, 4, 8})
    line("Tutel", tutelSeconds(setup.cluster, setup.constants, tutel, degree, false).seconds,
         ", degree " + Twine(degree) + (layer.gated ? ", experts of two matrices" : ""));
}

/// Simulates one layer and writes what was asked for.
static Error runLayer(Setup setup, const std::optional<Schedule> &scheduleOfProgram) {
  Schedule schedule;
  if (setup.passes > 1)
    outs() << "passes:    " << setup.passes << " of the program, one after the other; times are those of one\n";
  if (solveIt) {
    if (Error error = checkSearch(setup))
      return error;
    Solution solution;
    if (exchange == "best")
      std::tie(setup, solution) = solveExchange(setup);
    else
      solution = solve(setup);
    schedule = solution.schedule;
    outs() << formatv("solved:    plain {0:f1} us, best overlap {1:f1} us, {2} simulations", solution.plain * 1e6,
                      solution.overlapped * 1e6, solution.simulations);
    outs() << (schedule.kind == Schedule::Plain && solution.overlapped > 0
                   ? "; it gains less than " + std::to_string(int(kLeastGain * 100)) + " %: plain\n"
                   : "\n");
  } else {
    Expected<Schedule> given =
        scheduleText.empty() ? scheduleOfProgram.value_or(Schedule()) : parseSchedule(scheduleText);
    if (!given)
      return given.takeError();
    schedule = *given;
    if (Error error = checkSchedule(setup, schedule))
      return error;
  }
  const Run run = simulate(setup, schedule, /*keepSpans=*/true);
  printRun(setup, schedule, run, outs());
  if (systems)
    printSystems(setup);
  if (!plotFile.empty())
    if (Error error = writeFile(plotFile, [&](raw_ostream &os) { plotRun(setup, schedule, run, os); }))
      return error;
  if (!traceFile.empty())
    return writeFile(traceFile, [&](raw_ostream &os) { traceRun(setup, schedule, run, os); });
  return Error::success();
}

/// Fills in what the command line says of all layers.
static Error complete(Setup &setup, int64_t gridRanks) {
  const int64_t ranks = setup.cluster.ranks();
  if (gridRanks && gridRanks != ranks)
    return createStringError("the ranks that share the program's experts are simulated, which are " +
                             Twine(gridRanks) + "; the cluster has " + Twine(ranks) + ": use --cluster=" +
                             Twine(gridRanks) + "xNAME");
  if (!gridRanks) { // those of the whole program
    if (setup.layer.tokens && tokens && setup.layer.tokens != tokens)
      return createStringError("the program has " + Twine(setup.layer.tokens) + " tokens, not " +
                               Twine(tokens.getValue()));
    if (setup.layer.tokens % ranks)
      return createStringError("the program's " + Twine(setup.layer.tokens) + " tokens do not divide among " +
                               Twine(ranks) + " ranks");
    setup.layer.tokens /= ranks;
  }
  if (tokens.getNumOccurrences()) {
    if (tokens < 1 || tokens > kMostTokens)
      return createStringError("--tokens=" + Twine(tokens.getValue()) + " is not from 1 to " + Twine(kMostTokens));
    if (tokens % ranks)
      return createStringError("--tokens=" + Twine(tokens.getValue()) + " do not divide among " + Twine(ranks) +
                               " ranks");
    setup.layer.tokens = tokens / ranks;
  }
  if (!setup.layer.tokens)
    return createStringError("give --tokens=N, of all ranks together");
  // A program that is divided says itself what its sums travel as.
  const int64_t sumBytes = sums == "f32" ? 4 : 2;
  if (gridRanks && sums.getNumOccurrences() && sumBytes != setup.layer.sumBytes)
    return createStringError("--sums=" + sums.getValue() + ", but the sums of the program travel in " +
                             Twine(8 * setup.layer.sumBytes) + " bits");
  if (!gridRanks)
    setup.layer.sumBytes = sumBytes;
  setup.nested = exchange == "nested";
  setup.bulk = putKind == "bulk";
  if (shareStd > 0) {
    Expected<std::vector<double>> share = drawnShares(ranks, shareStd);
    if (!share)
      return share.takeError();
    setup.layer.share = *share;
  }
  return checkLayer(setup.layer, ranks);
}

/// Refuses an output that would replace an input, or the other output, or that would wait for a reader.
static Error checkOutputs() {
  FilePlan plan;
  if (!inputFile.empty())
    plan.reads("the input", inputFile);
  if (StringRef file = clusterFile(clusterText); !file.empty())
    plan.reads("the description of the cluster", file);
  if (!plotFile.empty())
    plan.writes(FilePlan::Kind::Text, "the plot", plotFile, "choose another name with --plot");
  if (!traceFile.empty())
    plan.writes(FilePlan::Kind::Text, "the trace", traceFile, "choose another name with --trace");
  // A picture may follow the text on one stream, but not replace the text's file.
  if (!descriptorOf(plotFile, STDOUT_FILENO) && !descriptorOf(traceFile, STDOUT_FILENO))
    plan.writes(FilePlan::Kind::Text, "the text", "-", "send standard output elsewhere");
  if (Error error = plan.check())
    return createStringError(forTerminal(toString(std::move(error)), /*isName=*/true));
  return Error::success();
}

/// One of the words that an option takes, or an error.
static Error oneOf(StringRef option, StringRef value, ArrayRef<StringRef> words) {
  if (is_contained(words, value))
    return Error::success();
  std::string list;
  for (StringRef word : words)
    list += (list.empty() ? "" : ", ") + word.str();
  return createStringError("'" + printable(value) + "' is no value of --" + option + "; one of " + list);
}

static Error simulateLayers(StringRef folder) {
  if (Error error = joinErrors(joinErrors(oneOf("exchange", exchange, {"flat", "nested", "best"}),
                                          oneOf("sums", sums, {"f32", "bf16"})),
                               oneOf("puts", putKind, {"bulk", "stores"})))
    return error;
  if (inputFile.empty() == layerText.empty())
    return createStringError("give a module or --layer, one of them; there are the layers " + layerNames() +
                             "; see moe-sim --help");
  if (Error error = checkOutputs())
    return error;
  if (solveIt && !scheduleText.empty())
    return createStringError("--solve finds a schedule, --schedule says one");
  if (exchange == "best" && !solveIt)
    return createStringError("--exchange=best needs --solve");
  if (!(shareStd >= 0))
    return createStringError("--share-std=%g is not a number from 0 on", shareStd.getValue());
  std::vector<ReadLayer> layers(1);
  if (inputFile.empty()) {
    Expected<Layer> layer = parseLayer(layerText);
    if (!layer)
      return layer.takeError();
    layers.front().layer = *layer;
  } else {
    Expected<std::vector<ReadLayer>> read = readLayers(inputFile);
    if (!read)
      return read.takeError();
    layers = std::move(*read);
    if (count_if(layers, [](const ReadLayer &each) { return each.why.empty(); }) > 1 &&
        !(plotFile.empty() && traceFile.empty()))
      return createStringError("the program has " + Twine(layers.size()) +
                               " different layers; --plot and --trace show one, give it by --layer");
  }
  if (clusterText.empty())
    return createStringError("give --cluster=[N x]NAME, or FILE.json: what the ranks are and what joins them");
  Expected<Cluster> cluster = findCluster(clusterText, folder);
  if (!cluster)
    return cluster.takeError();
  if (cluster->isCpu() && systems)
    return createStringError("--systems simulates systems of GPUs, and cluster '" + cluster->name + "' is one of CPUs");
  bool any = false;
  for (ReadLayer &each : layers) {
    Setup setup;
    setup.cluster = *cluster;
    setup.layer = each.layer;
    // Variants may share experts among other ranks: each cluster shows some of them.
    if (!each.variant.empty() && each.why.empty() && each.ranks != cluster->ranks())
      each.why = std::to_string(each.ranks) + " ranks share its experts; use --cluster=" + std::to_string(each.ranks) +
                 "xNAME";
    if (&each != &layers.front())
      outs() << "\n";
    if (!each.variant.empty())
      outs() << "variant:   " << each.variant << (each.why.empty() ? "" : ", not simulated: " + each.why) << "\n";
    if (!each.why.empty())
      continue;
    if (Error error = complete(setup, each.ranks))
      return error;
    if (each.nodes > 1 && exchange.getNumOccurrences() && exchange != "nested")
      return createStringError("--exchange=" + exchange.getValue() + ", but the program's tokens go to " +
                               Twine(each.nodes) + " nodes first");
    if (Error error = takeNodes(setup, each.nodes))
      return error;
    cutIntoPasses(setup, each.passTokens);
    if (Error error = runLayer(setup, each.schedule))
      return error;
    any = true;
  }
  return any ? Error::success() : createStringError("no variant of the program is simulated on this cluster");
}

int main(int argc, char **argv) {
  handleFatalErrors("moe-sim");
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, kOverview);
  const std::string folder = clusterFolder();
  if (predictions) {
    Error error = printPredictions(folder, outs());
    return error ? failed(std::move(error)) : EXIT_SUCCESS;
  }
  if (fitIt) {
    Expected<Machines> machines = readMachines(folder);
    if (!machines)
      return failed(machines.takeError());
    const Constants found = fit(*machines), kept;
    outs() << formatv("link      {0:f4}, in the model {1:f4}\npublished {2:f4}, in the model {3:f4}\n", found.link,
                      kept.link, found.published, kept.published);
    return EXIT_SUCCESS;
  }
  Error error = simulateLayers(folder);
  return error ? failed(std::move(error)) : EXIT_SUCCESS;
}
