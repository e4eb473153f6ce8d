//===- Flags.cpp - the table of the executable's flags ------------------------------------------------------------===//
//
// Parsing, checks and --help come from it. docs/Executable.md is compared to --help by a test.
//
//===----------------------------------------------------------------------------------------------------------------===//

#include "Flags.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace moert {

Status parseNamedFile(const std::string &text, NamedFile &file) {
  size_t at = text.find("=@");
  if (at == std::string::npos || at == 0 || at + 2 == text.size())
    return failure(kUserError, "expected NAME=@FILE, got '%s'", text.c_str());
  file.name = text.substr(0, at);
  file.path = text.substr(at + 2);
  return {};
}

static Status parseInteger(const char *text, int64_t low, int64_t high, int64_t &value) {
  char *end;
  errno = 0;
  long long parsed = std::strtoll(text, &end, 10);
  if (end == text || *end || errno || parsed < low || parsed > high)
    return failure(kUserError, "expected an integer in %lld..%lld, got '%s'", static_cast<long long>(low),
                   static_cast<long long>(high), text);
  value = parsed;
  return {};
}

/// Splits "NAME=N".
static Status parseNamedSize(const char *text, NamedSize &size) {
  const char *equals = std::strchr(text, '=');
  if (!equals || equals == text)
    return failure(kUserError, "expected NAME=N, got '%s'", text);
  size.name.assign(text, equals);
  return parseInteger(equals + 1, 0, int64_t(1) << 40, size.value);
}

static Status parseReal(const char *text, double low, double high, double &value) {
  char *end;
  double parsed = std::strtod(text, &end);
  if (end == text || *end || !(parsed >= low && parsed <= high))
    return failure(kUserError, "expected a number in %g..%g, got '%s'", low, high, text);
  value = parsed;
  return {};
}

/// An empty name would mean the default, which nobody asked for who gave the flag (as --weights "$UNSET").
static Status parseName(const char *text, const char *what, std::string &name) {
  name = text;
  return *text ? Status{} : failure(kUserError, "expected the name of %s", what);
}

/// A file, a pipe, or - for the standard output, as for moe-compile.
static Status parseStream(const char *text, std::string &name) {
  return parseName(std::strcmp(text, "-") == 0 ? "/dev/stdout" : text, "a file", name);
}

static constexpr int64_t kLarge = int64_t(1) << 40;

static const std::vector<Flag> kFlags = {
    {"help", nullptr, Mode::Help, true, "Shows this text.", nullptr},
    {"version", nullptr, Mode::Version, true, "Shows the versions of model, compiler and runtime.", nullptr},
    {"info", nullptr, Mode::Info, true,
     "Shows inputs, outputs, states and their bytes, parameters and what the model needs.", nullptr},

    {"kernels", nullptr, Mode::Info, true,
     "Shows the same and lists the kernels; for CUDA with threads, shared memory, registers and size.",
     [](Options &o, const char *) {
       o.kernels = true;
       return Status{};
     }},
    {"dump-source", "DIR", Mode::DumpSource, true,
     "Writes the source and the machine code of each CUDA kernel to DIR, with the device library that they include.",
     [](Options &o, const char *v) { return parseName(v, "a folder", o.dumpDir); }},

    {"generate", "[PROMPT]", Mode::Generate, true,
     "Continues a prompt, which is taken as it stands: --generate - continues a dash, --generate=--x what begins with "
     "two. Repeatable: the prompts are independent, each text ends with a line feed. Without PROMPT, before another "
     "flag, prompts come from --prompt-file alone.",
     [](Options &o, const char *v) {
       if (v)
         o.prompts.push_back({v, false});
       else
         ++o.missingPrompts;
       return Status{};
     },
     true},
    {"prompt-file", "FILE", Mode::Generate, true,
     "Continues the content of FILE, which may be a pipe; - is the standard input. Repeatable.",
     [](Options &o, const char *v) {
       o.prompts.push_back({"", true});
       return parseName(v, "a file", o.prompts.back().value);
     },
     true},
    {"ids", nullptr, Mode::Generate, false, "Prompts and output are token ids in decimal instead of text.",
     [](Options &o, const char *) {
       o.ids = true;
       return Status{};
     }},
    {"max-new-tokens", "N", Mode::Generate, false,
     "Stops after N tokens. Default: at an end-of-sequence token or when the cache is full.",
     [](Options &o, const char *v) { return parseInteger(v, 0, kLarge, o.maxNewTokens); }},
    {"stop", "STRING", Mode::Generate, false,
     "Stops where STRING would appear; it is not shown. Repeatable: the first string to be complete stops.",
     [](Options &o, const char *v) {
       o.stops.push_back(v);
       return *v ? Status{} : failure(kUserError, "expected a string that is not empty");
     },
     true},
    {"temperature", "T", Mode::Generate, false,
     "Samples with temperature T. Default 0: always the most probable token.",
     [](Options &o, const char *v) { return parseReal(v, 0, 1e6, o.sampling.temperature); }},
    {"top-p", "P", Mode::Generate, false, "Samples from the most probable tokens that together reach P. Default 1.",
     [](Options &o, const char *v) { return parseReal(v, 0, 1, o.sampling.topP); }},
    {"top-k", "K", Mode::Generate, false,
     "Samples from the K most probable tokens, those of lower ids among equals. Default: all.",
     [](Options &o, const char *v) { return parseInteger(v, 1, kLarge, o.sampling.topK); }},
    {"min-p", "P", Mode::Generate, false,
     "Samples from tokens that are at least P times as probable as the most probable one. Default 0.",
     [](Options &o, const char *v) { return parseReal(v, 0, 1, o.sampling.minP); }},
    {"repetition-penalty", "R", Mode::Generate, false,
     "Divides the logits of tokens that stand in the text, the prompt included, by R, or multiplies negative ones. "
     "Default 1.",
     [](Options &o, const char *v) { return parseReal(v, 1e-3, 1e3, o.sampling.repetitionPenalty); }},
    {"prefill-chunk", "N", Mode::Generate, false, "Feeds the prompt N tokens at a time. Default: in one piece.",
     [](Options &o, const char *v) { return parseInteger(v, 1, kLarge, o.prefillChunk); }},

    {"input", "NAME=@FILE.npy", Mode::Tensors, true,
     "Runs the program once on arrays; all inputs are needed. bf16 is read from float32 or raw V2. Repeatable.",
     [](Options &o, const char *v) {
       o.call.inputs.emplace_back();
       return parseNamedFile(v, o.call.inputs.back());
     },
     true},
    {"output-dir", "DIR", Mode::Tensors, true, "Writes each output to DIR/NAME.npy (bf16 as float32, exact).",
     [](Options &o, const char *v) { return parseName(v, "a folder", o.call.outputDir); }},
    {"expected-output", "NAME=@FILE.npy", Mode::Tensors, true,
     "Compares an output; exits with 3 if it differs. Repeatable.",
     [](Options &o, const char *v) {
       o.call.expected.emplace_back();
       return parseNamedFile(v, o.call.expected.back());
     },
     true},
    {"rtol", "X", Mode::Tensors, false,
     "Relative tolerance: values may differ by atol + rtol * magnitude. Default 1e-5.",
     [](Options &o, const char *v) { return parseReal(v, 0, 1e30, o.rtol); }},
    {"atol", "X", Mode::Tensors, false, "Absolute tolerance. Default 1e-6.",
     [](Options &o, const char *v) { return parseReal(v, 0, 1e30, o.atol); }},
    {"calls", "FILE", Mode::Tensors, true,
     "Runs several calls, one per line: --input, --output-dir and --expected-output as here, or the word reset. "
     "The line 'variant NAME' chooses the variant of the calls that follow; a NAME with blanks stands in double "
     "quotes. States are kept from line to line. FILE may be a pipe; - is the standard input.",
     [](Options &o, const char *v) { return parseName(v, "a file", o.calls); }},

    {"benchmark", nullptr, Mode::Benchmark, true,
     "Measures prefill and decode on random tokens; calls on random inputs, if the model generates no text.", nullptr},
    {"prompt-tokens", "N", Mode::Benchmark, false,
     "Tokens per row of the prefill. Default: 128, at most half of the cache.",
     [](Options &o, const char *v) { return parseInteger(v, 1, kLarge, o.promptTokens); }},
    {"decode-tokens", "N", Mode::Benchmark, false,
     "Decode steps per repetition. Default: 32, at most a quarter of the cache.",
     [](Options &o, const char *v) { return parseInteger(v, 0, kLarge, o.decodeTokens); }},
    {"batch", "B", Mode::Benchmark, false, "Rows. Default 1.",
     [](Options &o, const char *v) { return parseInteger(v, 1, 1 << 20, o.batch); }},
    {"size", "NAME=N", Mode::Benchmark, false,
     "Measures calls on random inputs whose size NAME is N (--info shows the names). Repeatable.",
     [](Options &o, const char *v) {
       o.sizes.emplace_back();
       return parseNamedSize(v, o.sizes.back());
     },
     true},
    {"repeat", "N", Mode::Benchmark, false, "Repetitions, after one that is not counted. Default 5.",
     [](Options &o, const char *v) { return parseInteger(v, 1, 1 << 20, o.repeat); }},
    {"samples", "FILE", Mode::Benchmark, false,
     "Writes the raw times as JSON, one line per repetition; FILE may be a pipe, or - for the standard output.",
     [](Options &o, const char *v) { return parseStream(v, o.samples); }},
    {"wait", nullptr, Mode::Benchmark, false,
     "Waits for a line on the standard input before each repetition, and answers with a line of JSON after it.",
     [](Options &o, const char *) {
       o.wait = true;
       return Status{};
     }},

    {"tune", nullptr, Mode::Benchmark, true,
     "Measures calls with each variant of the model, for each of the sizes that --size names, and writes into "
     "NAME.tuning.json, beside the archive of weights, which one is the fastest. Runs without --variant take it. Sizes "
     "of which a rank has as many tokens, in steps of 128, share a choice: the last one counts.",
     [](Options &o, const char *) {
       o.tune = true;
       return Status{};
     }},

    {"serve", nullptr, Mode::Serve, true,
     "Answers requests on the standard input, which are messages that docs/Executable.md describes, until it ends.",
     nullptr},

    {"seed", "N", Mode::None, false, "Seed of sampling and of the benchmark's tokens. Default 0.",
     [](Options &o, const char *v) {
       int64_t seed = 0;
       Status s = parseInteger(v, 0, INT64_MAX, seed);
       o.sampling.seed = static_cast<uint64_t>(seed);
       return s;
     }},
    {"device", "DEVICE", Mode::None, false,
     "cpu, cuda or cuda:N. Default: cuda:0 if the model was compiled for it, else cpu.",
     [](Options &o, const char *v) {
       o.device = v;
       return *v ? Status{} : failure(kUserError, "expected cpu, cuda or cuda:N");
     }},
    {"entry", "NAME", Mode::None, false,
     "The function of the model that runs. Needed if it has several (--info lists them).",
     [](Options &o, const char *v) {
       o.entry = v;
       return *v ? Status{} : failure(kUserError, "expected the name of an entry");
     }},
    {"deadline", "SECONDS", Mode::None, false,
     "Fails a run on a GPU that has not ended after so long, and names the kernel. Default: after 600, without its "
     "name. Between ranks: fails a wait of one for another. Default: 60.",
     [](Options &o, const char *v) {
       double seconds = 0;
       Status s = parseReal(v, 0.001, 1e6, seconds);
       o.deadline = std::llround(seconds * 1000);
       return s;
     }},
    {"ranks", "N", Mode::None, false,
     "Starts N processes, one for each rank of a model that was compiled for several (--info shows how many). "
     "torchrun, mpirun and srun start them without it.",
     [](Options &o, const char *v) { return parseInteger(v, 1, 4096, o.ranks); }},
    {"comm", "PROVIDER", Mode::None, false,
     "How the ranks of --ranks share memory: shm, as processes (default), or local, as threads of one process, for "
     "debuggers and where processes may not see each other. nccl, also without --ranks: as processes, on GPUs, with "
     "windows of NCCL.",
     [](Options &o, const char *v) {
       o.comm = v;
       bool isKnown = o.comm == "shm" || o.comm == "local" || o.comm == "nccl";
       return isKnown ? Status{} : failure(kUserError, "expected shm, local or nccl, got '%s'", v);
     }},
    {"hosts", "FILE", Mode::None, false,
     "The hosts of the ranks: a line NAME RANKS for each, in the order of ranks. The same command runs on all of them, "
     "and starts the ranks of its own line.",
     [](Options &o, const char *v) { return parseName(v, "a file", o.hosts); }},
    {"root", "HOST:PORT", Mode::None, false,
     "With --hosts: where rank 0 listens, an address of the first host that the others reach.",
     [](Options &o, const char *v) { return parseName(v, "HOST:PORT", o.root); }},
    {"host-name", "NAME", Mode::None, false,
     "What this host is called in the file. Default: its name, up to the first dot. Ranks of two names share no "
     "memory.",
     [](Options &o, const char *v) { return parseName(v, "a host", o.hostName); }},
    {"interface", "NAME", Mode::None, false,
     "The network interface by which ranks of other hosts are reached (UCX_NET_DEVICES). Default: UCX chooses.",
     [](Options &o, const char *v) { return parseName(v, "a network interface", o.interface); }},
    {"variant", "NAME", Mode::None, false,
     "Runs one of several variants, by its name or number (--info lists them). Default: the one that --tune found for "
     "that many tokens, or the first one.",
     [](Options &o, const char *v) { return parseName(v, "a variant", o.variant); }},
    {"threads", "N", Mode::None, false,
     "Threads of each rank. Default: the cores that it may use, divided among ranks. It has no more than cores.",
     [](Options &o, const char *v) { return parseInteger(v, 1, 1024, o.threads); }},
    {"pin", nullptr, Mode::None, false, "Binds each thread to a core.",
     [](Options &o, const char *) {
       o.pin = true;
       return Status{};
     }},
    {"trace", "FILE", Mode::None, false, "Writes every launch as Chrome/Perfetto JSON; FILE may be a pipe, or - for "
     "the standard output.",
     [](Options &o, const char *v) { return parseStream(v, o.trace); }},
    {"weights", "FILE", Mode::None, false, "The archive of weights. Default: the one recorded, beside this file.",
     [](Options &o, const char *v) { return parseName(v, "a file", o.weights); }},
    {"random-weights", "SEED", Mode::None, false,
     "Makes the weights from a seed instead of reading them: uniform over the multiples of 1/2048 in [-1/16, 1/16).",
     [](Options &o, const char *v) {
       int64_t seed = 0;
       Status s = parseInteger(v, 1, INT64_MAX, seed);
       o.randomWeights = static_cast<uint64_t>(seed);
       return s;
     }},
    {"verify-weights", nullptr, Mode::None, false, "Reads all weights and compares their checksums first.",
     [](Options &o, const char *) {
       o.verifyWeights = true;
       return Status{};
     }},
};

const std::vector<Flag> &allFlags() { return kFlags; }

static const std::vector<FlagGroup> kGroups = {{Mode::Generate, "Text (models exported with their vocabulary)"},
                         {Mode::Tensors, "Arrays"},
                         {Mode::Benchmark, "Speed"},
                         {Mode::Serve, "For other programs"},
                         {Mode::None, "With all of these"},
                         {Mode::Info, "About the program"}};

const std::vector<FlagGroup> &flagGroups() { return kGroups; }

} // namespace moert
