//===- Main.cpp - the executable that moe-compile makes -----------------------------------------------------------===//

#include "Console.h"
#include "Modes.h"
#include "StartRanks.h"
#include "core/OutputFile.h"
#include "core/OwnFiles.h"
#include "core/Select.h"
#include "core/Variants.h"

#include <cstdlib>

using namespace moert;

/// The archive's path: what --weights says, else what the program records.
static std::string weightsPath(const moert_program &program, const Options &options) {
  if (!options.weights.empty())
    return options.weights;
  return recordedWeights(program);
}

static Status runMode(moert_session *session, const moert_program &program, const Options &options) {
  switch (options.mode) {
  case Mode::Generate:
    return generate(session, program, options);
  case Mode::Tensors:
    return runTensors(session, program, options);
  case Mode::Benchmark:
    return options.tune ? tune(session, program, options, tuningPath(weightsPath(program, options)))
                        : benchmark(session, program, options);
  case Mode::Serve:
    return serve(session, program);
  default:
    return print(format("the weights' checksums agree\n"));
  }
}

static const char *orNull(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

/// Whether --entry and --device leave a program.
static bool isMeant(const moert_program_list &programs, const moert_program &program, const Options &options) {
  Selection selection;
  const char *device = options.device.empty() ? deviceName(program.device) : options.device.c_str();
  return (options.entry.empty() || options.entry == program.entry) &&
         !selectProgram(programs, program.entry, device, selection).failed() && selection.program == &program;
}

static Status info(const moert_program_list &programs, const Options &options) {
  std::string text;
  for (int32_t i = 0; i < programs.count; ++i) {
    const moert_program &program = *programs.programs[i];
    if (!isMeant(programs, program, options))
      continue;
    if (!options.variant.empty()) {
      Variants variants;
      Status s = variants.open(programs, program);
      s = s.failed() ? s : variants.choose(options.variant.c_str());
      if (s.failed())
        return s;
    }
    text += format("%s%s", text.empty() ? "" : "\n", infoText(program, weightsPath(program, options)).c_str());
    text += variantTable(programs, program);
    if (options.kernels)
      text += kernelTable(program);
  }
  if (!text.empty())
    return print(text);
  Selection none;
  return selectProgram(programs, orNull(options.entry), orNull(options.device), none);
}

/// The source of the entry's kernels; without --device, of its program for a GPU.
static Status dump(const moert_program_list &programs, const Options &options, const char *executable) {
  Selection selection;
  const char *device = options.device.empty() ? "cuda" : options.device.c_str();
  if (Status s = selectProgram(programs, orNull(options.entry), device, selection); s.failed())
    return s;
  const moert_program &program = *selection.program;
  if (Status s = checkSources(program, options.dumpDir, weightsPath(program, options), executable); s.failed())
    return s;
  return dumpSource(program, options.dumpDir);
}

namespace {
/// What all ranks run.
struct Work {
  const moert_program_list &programs;
  const moert_program &program;
  const char *executable;
};
} // namespace

static Status runSession(const void *what, const Options &options, const char *token) {
  auto &[programs, program, executable] = *static_cast<const Work *>(what);
  std::string weights = weightsPath(program, options);
  moert_session_options open = {};
  open.entry = orNull(options.entry);
  open.device = orNull(options.device);
  open.weights = orNull(weights); // a program may have none
  open.threads = static_cast<int32_t>(options.threads);
  open.pin = options.pin;
  open.verify_weights = options.verifyWeights;
  open.random_weights = options.randomWeights;
  open.deadline_ms = options.deadline;
  open.trace = !options.trace.empty();
  // On a GPU every count would wait for it, in the middle of what is measured.
  open.count_experts = options.mode == Mode::Benchmark && !options.tune && program.device == MOERT_CPU;
  open.variant = orNull(options.variant);
  open.tuning = options.tune ? "" : nullptr; // which may be that of another program
  open.comm = options.comm == "nccl" ? "nccl" : nullptr;
  if (token) {
    open.rank = options.rank;
    open.ranks = static_cast<int32_t>(options.ranks);
    open.root = "local";
    open.token = token;
  }
  moert_session *session = nullptr;
  int32_t code = moert_session_open(&programs, &open, &session);
  Status status = sessionStatus(session, code);
  if (!status.failed() && program.device == MOERT_CPU && options.threads > moert_session_threads(session))
    note("%s: warning: --threads %lld: this process may use %d cores, and has no more threads than that", executable,
         static_cast<long long>(options.threads), moert_session_threads(session));
  if (!status.failed())
    status = runMode(session, program, options);
  if (!status.failed() && open.trace) {
    SignalsHeld held(!OutputFile::isStream(options.trace));
    status = sessionStatus(session, moert_session_write_trace(session, options.trace.c_str()));
  }
  moert_session_close(session);
  return status;
}

static Status runProgram(const moert_program_list &programs, Options &options, const char *executable) {
  Selection selection;
  if (Status s = selectProgram(programs, orNull(options.entry), orNull(options.device), selection); s.failed())
    return s;
  const moert_program &program = *selection.program;
  if (Status s = readCalls(options); s.failed())
    return s;
  if (Status s = checkFiles(program, options, weightsPath(program, options), executable); s.failed())
    return s;
  Work work{programs, program, executable};
  return runAsRanks(work.program, options, executable, runSession, &work);
}

static Status runCommand(const moert_program_list &programs, int argc, char **argv) {
  Options options;
  const char *executable = argc ? argv[0] : "model";
  if (Status s = parseOptions(argc, argv, options); s.failed())
    return s;
  switch (options.mode) {
  case Mode::Help:
    return print(helpText(programs, executable));
  case Mode::Version:
    return print(versionText(*programs.programs[0]));
  case Mode::Info:
    return info(programs, options);
  case Mode::DumpSource:
    return dump(programs, options, executable);
  default:
    return runProgram(programs, options, executable);
  }
}

int main(int argc, char **argv) {
  setUpProcess(argc ? argv[0] : "model");
  Status status = runCommand(*moert_session_programs(), argc, argv);
  if (status.failed() && !status.message.empty())
    complain("%s: error: %s", argc ? argv[0] : "model", status.message.c_str());
  return status.code;
}
