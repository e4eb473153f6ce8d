//===- moe-compile.cpp - compiles an exported model into an executable --------------------------------------------===//

#include "moe-mlir/Driver/Driver.h"
#include "moe-mlir/Pipelines/AutoParallel.h"
#include "moe-mlir/Pipelines/LayerTimes.h"
#include "moe-mlir/Pipelines/Parallel.h"
#include "moe-mlir/Pipelines/Targets.h"
#include "moe-mlir/Support/TerminalText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace moe_mlir;

static constexpr StringLiteral kOverview = R"(
moe-compile: from an exported Mixture-of-Experts model to an executable

  moe-compile model.pt2 -o model              an executable and its weights, model.weights
  ./model --generate "Once upon a time"       run it; ./model --help says more
  moe-compile model.pt2 --emit=lib -o m.so    a shared object with a C API (moert/session.h)
  moe-compile model.pt2 --target=cuda:sm_90a  for a GPU, and for the CPU
  moe-compile model.pt2 --parallel=ep=4 -o m  for 4 processes that share the experts; ./m --ranks 4 starts them
  moe-compile model.pt2 --parallel=auto,ranks=2 -o m   divided in the way that should take the least time

The program passes through the levels graph, spmd, scheduled, kernel and runtime. Every level is text:

  moe-compile model.pt2 --to=graph            print the model as the compiler understands it
  moe-compile model.pt2 -o model --dump-intermediates=ir
  moe-compile ir/3_kernel.mlir -o model       go on from an edited file: it names its level and its weights
  moe-compile model.pt2 -o model --report     what each layer costs and which kernels it runs

Files of the right names appear only when everything went well. Exit codes: 0 fine, 1 a fault of the input or of the
command line, 2 not supported, 70 a fault of the compiler; 128 and the number of a signal that ended it: 130 for
Ctrl-C, 143 for SIGTERM.
)";

static cl::OptionCategory category("Options");

static int usageError(const Twine &text) {
  errs() << "moe-compile: error: " << forTerminal(text.str(), /*isName=*/true) << "; see moe-compile --help\n";
  return kUserError;
}

/// One of the words that cl::values lists; LLVM's own parser calls them options in its message.
template <typename T>
struct WordParser : cl::parser<T> {
  using cl::parser<T>::parser;

  bool parse(cl::Option &option, StringRef, StringRef word, T &value) {
    std::string words;
    for (const auto &known : this->Values) {
      if (known.Name == word) {
        value = known.V.getValue();
        return false;
      }
      words += (words.empty() ? "" : ", ") + known.Name.str();
    }
    usageError("'" + word + "' is no value of --" + option.ArgStr + "; one of " + words);
    return true;
  }
};

template <typename T>
using WordOption = cl::opt<T, /*ExternalStorage=*/false, WordParser<T>>;

static cl::opt<std::string> inputFile(cl::Positional, cl::desc("<model.pt2 | module.mlir | ->"), cl::Required,
                                      cl::cat(category));
static cl::opt<std::string> outputFile("o", cl::value_desc("file"), cl::cat(category),
                                       cl::desc("Output: the program, or with --to the IR (- is standard output). "
                                                "Default: the input's name without its suffix"));
static WordOption<Emit> emit("emit", cl::desc("What to make"), cl::cat(category), cl::init(Emit::Executable),
                             cl::values(clEnumValN(Emit::Executable, "exe", "an executable (default)"),
                                        clEnumValN(Emit::Library, "lib", "a shared object with a C API"),
                                        clEnumValN(Emit::Object, "obj", "the object of either, not linked")));
static const std::string targetHelp = "Device to compile for: " + targetNames() +
                                      " (any GPU of that architecture, tuned for the first). Default: cpu. A program "
                                      "for a GPU runs on the CPU, too";
static cl::opt<std::string> target("target", cl::value_desc("device"), cl::cat(category), cl::desc(targetHelp));
static WordOption<Entry>
    entry("entry", cl::desc("What to compile of a model"), cl::cat(category), cl::init(Entry::Main),
          cl::values(clEnumValN(Entry::Main, "main", "all of it (default)"),
                     clEnumValN(Entry::Layers, "layers", "each of its MoE layers, as layerN_moe")));
static cl::opt<std::string>
    parallel("parallel", cl::value_desc("ep=N,..."), cl::cat(category),
             cl::desc("Divide the experts of every layer among N ranks, processes that run one program: ep=4. "
                      "nodes=N sends a token to each of N equal parts of these once, and from there to its ranks. "
                      "etp=N gives each rank a slice of every expert, tp=N a part of attention and dense layers (the "
                      "same ranks, if both are given), dp=N a part of the batch; ep, etp or tp, and dp multiply. "
                      "tokens=split (default where the first input can be divided) gives each rank a part of the "
                      "batch, tokens=replicated all of it. groups=G (default 8) is the order of sums: every ep that divides G "
                      "gives the same bits. sums=bf16 (default f32) rounds each rank's sum before it travels: half the bytes, "
                      "but bits depend on ep, etp and tp. experts=FILE (JSON) says which expert stands where. auto chooses "
                      "the fields that are not given for the ranks of --cluster, or auto,ranks=N for ranks of this machine, by what "
                      "a call of --schedule-tokens should take (of batch=B sequences); -v tells all alternatives"));
static cl::list<std::string>
    variant("variant", cl::value_desc("ep=N,..."), cl::cat(category),
            cl::desc("Another way to divide the program among as many ranks, with the same weights; the first one is "
                     "--parallel. Takes the fields of --parallel, and schedule=<..> for its layers; groups, sums and "
                     "experts are those of --parallel. The program goes from one variant to another between two calls "
                     "(./model --variant, --tune). Repeatable"));
static cl::opt<std::string>
    cluster("cluster", cl::value_desc("name"), cl::cat(category),
            cl::desc("Schedule exchanges under products for ranks that are connected so: 8xH200, as moe-sim takes "
                     "it, or a file. Default: a cluster of the device of --target; ranks of a CPU are taken to share a "
                     "machine, and overlap nothing"));
static cl::opt<int64_t> scheduleTokens("schedule-tokens", cl::value_desc("N"), cl::cat(category), cl::init(0),
                                       cl::desc("Schedule for so many tokens of all ranks together. Default: those of "
                                                "the input if they are fixed, or 8192 of each rank"));
static cl::opt<std::string>
    windows("windows", cl::value_desc("bytes"), cl::cat(category),
            cl::desc("What the windows of a rank may take: 64M, 1G. Exchanges of more tokens are cut into passes. "
                     "Default: 1G for numbers of tokens that are fixed, no limit for others"));
static cl::opt<std::string> targetCpu("target-cpu", cl::value_desc("name"), cl::cat(category),
                                      cl::desc("CPU to compile for, x86-64-v3 or newer: native (default), x86-64-v3, "
                                               "x86-64-v4, sapphirerapids, znver4, ..."));
static cl::opt<std::string> weights(
    "weights", cl::value_desc("file"), cl::cat(category),
    cl::desc("Take the weights from this .pt2 or .safetensors instead of the file that the module names; none: the "
             "program makes random ones when it runs"));
static cl::opt<std::string> fromLevel("from", cl::value_desc("level"), cl::cat(category),
                                      cl::desc("Level of an IR input that does not name it"));
static cl::opt<std::string> toLevel("to", cl::value_desc("level"), cl::cat(category),
                                    cl::desc("Stop at this level and print the IR"));
static cl::opt<std::string> dumpFolder("dump-intermediates", cl::value_desc("folder"), cl::cat(category),
                                       cl::desc("Write the IR of every level passed into this folder"));
namespace {
/// `--report` is the table on standard output; `--report=` is a name that is missing.
struct ReportPlace : cl::parser<std::string> {
  using parser::parser;
  bool parse(cl::Option &, StringRef, StringRef text, std::string &value) {
    value = text.data() ? text.str() : "-";
    return false;
  }
};
} // namespace

static cl::opt<std::string, false, ReportPlace>
    report("report", cl::ValueOptional, cl::value_desc("file"), cl::cat(category),
           cl::desc("Say what each layer costs and which kernels it runs: as a table on "
                    "standard output or in a file, as JSON in a file that ends in .json"));
static cl::list<mlir::moe::LayerKind, bool, WordParser<mlir::moe::LayerKind>>
    require("require", cl::CommaSeparated, cl::cat(category),
            cl::desc("End with exit code 2 if a layer of these kinds stays plain operations, which are slow, or if "
                     "there is none; a list, as in --require=moe,attention"),
            cl::values(clEnumValN(mlir::moe::LayerKind::Moe, "moe", "MoE layers"),
                       clEnumValN(mlir::moe::LayerKind::Router, "router", "what chooses their experts"),
                       clEnumValN(mlir::moe::LayerKind::Attention, "attention", "attention layers"),
                       clEnumValN(mlir::moe::LayerKind::Norm, "norm", "norms (RMS)")));
static WordOption<ProgressMode>
    progress("progress", cl::desc("How to show progress, on standard error"), cl::cat(category),
             cl::init(ProgressMode::Auto),
             cl::values(clEnumValN(ProgressMode::Auto, "auto", "a line per phase; live on a terminal"),
                        clEnumValN(ProgressMode::Plain, "plain", "a line per phase"),
                        clEnumValN(ProgressMode::None, "none", "nothing")));
static cl::opt<bool> quiet("q", cl::desc("Print errors only"), cl::cat(category));
static cl::opt<bool> verbose("v", cl::desc("Print remarks and the operations that errors are about"),
                             cl::cat(category));
static cl::opt<bool> timing("timing", cl::desc("Print the time of every pass"), cl::cat(category));

/// "64M"; nothing if the text is no number of bytes.
static std::optional<int64_t> parseBytes(StringRef text) {
  const int64_t most = int64_t(1) << 50;
  int shift = 0;
  for (auto [suffix, bits] : {std::pair<const char *, int>{"K", 10}, {"M", 20}, {"G", 30}})
    if (text.consume_back(suffix)) {
      shift = bits;
      break;
    }
  int64_t number;
  if (text.getAsInteger(10, number) || number < 1 || number > (most >> shift))
    return std::nullopt;
  return number << shift;
}

static std::optional<Level> levelOption(const cl::opt<std::string> &option, bool &bad) {
  if (option.getNumOccurrences() == 0)
    return std::nullopt;
  std::optional<Level> level = parseLevel(option);
  if (!level) {
    usageError("unknown level '" + option + "' in --" + option.ArgStr +
               "; one of graph, spmd, scheduled, kernel, runtime");
    bad = true;
  }
  return level;
}

/// An empty name would mean the default, which nobody asked for who gave the option (as -o "$UNSET").
static bool hasEmptyName() {
  if (inputFile.empty()) {
    usageError("the name of the input is empty");
    return true;
  }
  for (const cl::opt<std::string> *option :
       {&outputFile, &target, &parallel, &cluster, &windows, &targetCpu, &weights, &dumpFolder})
    if (option->getNumOccurrences() && option->empty()) {
      usageError("the value of " + Twine(option == &outputFile ? "-" : "--") + option->ArgStr + " is empty");
      return true;
    }
  if (is_contained(variant, "")) {
    usageError("the value of --variant is empty");
    return true;
  }
  if (report.getNumOccurrences() && report.empty()) {
    usageError("the value of --report is empty");
    return true;
  }
  return false;
}

/// Of several values the last one would win, and nobody would miss the others; except where one adds to another.
static bool isRepeated() {
  const StringRef repeatable[] = {"variant", "require", "q", "v"};
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (option->getNumOccurrences() > 1 && is_contained(option->Categories, &category) &&
        !is_contained(repeatable, name)) {
      usageError(Twine(name.size() == 1 ? "-" : "--") + name + " is given twice");
      return true;
    }
  return false;
}

/// Makes the tool's own options the only ones: LLVM's libraries register hundreds.
static void hideForeignOptions() {
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (!is_contained(option->Categories, &category) && name != "help" && name != "version")
      option->setHiddenFlag(cl::ReallyHidden);
}

int main(int argc, char **argv) {
  handleInterrupts();
  if (!takeStack())
    return kUserError;
  cl::SetVersionPrinter([](raw_ostream &os) { os << "moe-compile " MOE_VERSION " (LLVM " LLVM_VERSION_STRING ")\n"; });
  hideForeignOptions();
  // The parser itself would exit with code 1 as well; collecting its text keeps the messages in one form.
  std::string messages;
  raw_string_ostream os(messages);
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &os)) {
    if (!messages.empty()) // else it is said
      errs() << StringRef(messages).rtrim() << "\n";
    return kUserError;
  }
  bool bad = hasEmptyName() || isRepeated();
  if (bad)
    return kUserError;
  CompileOptions options;
  options.tool = sys::fs::getMainExecutable(argv[0], reinterpret_cast<void *>(main));
  options.input = inputFile;
  options.output = outputFile;
  options.emit = emit;
  options.target = target;
  options.parallel = parallel;
  options.variants.assign(variant.begin(), variant.end());
  options.cluster = cluster;
  options.scheduleTokens = scheduleTokens;
  std::optional<int64_t> bytes = windows.getNumOccurrences() ? parseBytes(windows) : 0;
  options.windows = bytes.value_or(0);
  if (targetCpu.getNumOccurrences())
    options.targetCpu = targetCpu;
  options.entry = entry;
  options.from = levelOption(fromLevel, bad);
  options.to = levelOption(toLevel, bad);
  options.dumpFolder = dumpFolder;
  if (report.getNumOccurrences())
    options.report = report;
  options.weights = weights;
  options.require.assign(require.begin(), require.end());
  options.progress = progress;
  options.quiet = quiet;
  options.verbose = verbose;
  options.timing = timing;
  if (bad)
    return kUserError;
  if (quiet && verbose)
    return usageError("-q and -v exclude each other");
  if (options.output == "-" && !options.to)
    return usageError("-o - needs --to=LEVEL: a program is not written to standard output");
  if (emit.getNumOccurrences() && options.to)
    return usageError("--emit and --to exclude each other: --to=" + toLevel + " makes IR");
  std::string error;
  const bool isChosen = isAutoParallel(options.parallel);
  if (isChosen ? !parseAutoParallel(options.parallel, error)
               : !options.parallel.empty() && !parseParallel(options.parallel, error))
    return usageError("--parallel=" + options.parallel + ": " + error);
  if (Error fault = checkCluster(options.cluster))
    return usageError("--cluster=" + options.cluster + ": " + toString(std::move(fault)));
  if (scheduleTokens.getNumOccurrences() && (scheduleTokens < 1 || scheduleTokens > (int64_t(1) << 32)))
    return usageError("--schedule-tokens=" + Twine(scheduleTokens.getValue()) + " is no number of tokens");
  if (!bytes)
    return usageError("--windows=" + windows + " is no number of bytes; 64M, say, with K, M or G");
  if (!options.parallel.empty() && options.to == Level::Graph)
    return usageError("--parallel makes level spmd, which --to=graph does not reach");
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{&cluster, &scheduleTokens, &windows})
    if (option->getNumOccurrences() && options.to && *options.to < Level::Scheduled &&
        !(isChosen && option != &windows)) // auto chooses by them
      return usageError("--" + option->ArgStr + " decides " +
                        (option == &windows ? "passes" : "schedules") + ", at level scheduled, which --to=" + toLevel +
                        " does not reach");
  if (options.report && options.to && *options.to < Level::Kernel)
    return usageError("--report describes level kernel, which --to=" + toLevel + " does not reach");
  if (options.report == "-" && options.to && (options.output.empty() || options.output == "-"))
    return usageError("the IR and the report would both go to standard output: name a file with -o or --report=FILE");
  if (options.from && options.to && *options.to < *options.from)
    return usageError("--to=" + toLevel + " comes before --from=" + fromLevel);
  return compile(options);
}
