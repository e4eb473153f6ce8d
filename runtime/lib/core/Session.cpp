//===- Session.cpp - opening and running a program ----------------------------------------------------------------===//

#include "core/Session.h"

#include "core/OwnFiles.h"
#include "core/Place.h"
#include "cpu/Features.h"

#include <algorithm>
#include <cstring>
#include <functional>

using namespace moert;

/// Kernels read inputs in pieces of this size.
constexpr uintptr_t kDeviceAlignment = 16;

/// Of several ranks a deadline is for each wait, and a run on a GPU, in which waits end by themselves, has more time:
/// one for a rank, one of twice the patience for this rank's own blocks, and the work.
constexpr int64_t kWaitsOfARun = 4;
/// What a deadline may be in milliseconds: of several of them, in nanoseconds, the clock's time has room.
constexpr int64_t kMostDeadline = 1000000000;

/// Whether the entry of `program` was also compiled for the CPU.
static bool hasCpuTwin(const moert_program_list &programs, const moert_program &program) {
  Selection cpu;
  return !selectProgram(programs, program.entry, "cpu", cpu).failed();
}

Status Session::openDevice(const moert_program_list &programs, const Selection &selection,
                           const moert_session_options &options) {
  if (program->device == MOERT_CPU) {
    if (options.deadline_ms && !context.job)
      return failure(kUserError, "a deadline is for runs on a GPU or of several ranks: this program is for one cpu");
    if (options.comm)
      return failure(kUserError, "NCCL is for ranks on GPUs: this program is for the cpu");
    if (options.device_values || options.stream)
      return failure(kUserError, "values of a GPU, or its stream, need a program for it: this one is for the cpu");
    return {};
  }
  if (options.device_values && (options.trace || options.count_experts))
    return failure(kUserError, "traces and expert loads wait for the GPU, which a run on its own values does not");
  if (options.device_values && options.deadline_ms && !context.job)
    return failure(kUserError, "a deadline is for runs that wait for the GPU, which one on its own values does not");
  DeviceOptions deviceOptions;
  deviceOptions.stream = options.stream;
  if (options.deadline_ms) {
    deviceOptions.deadline = options.deadline_ms * (context.job ? kWaitsOfARun : 1);
    deviceOptions.namesLate = !options.device_values;
  }
  if (context.job) {
    deviceOptions.rank = context.job->indexHere();
    deviceOptions.sharers = context.job->areThreads() ? context.job->ranks() : 1;
  }
  Status s = moert::openDevice(selection, deviceOptions, context.device);
  if (s.failed() && s.code != kInternal && hasCpuTwin(programs, *program))
    s.message += " (--device cpu does without)";
  context.deviceValues = options.device_values != 0;
  return s;
}

Status Session::openWeights(const moert_session_options &options) {
  if (options.random_weights && options.verify_weights)
    return failure(kUserError, "weights that are made from a seed cannot be verified");
  if (options.weights && !*options.weights)
    return failure(kUserError, "the name of the archive of weights is empty");
  std::string path = options.weights ? options.weights : recordedWeights(*program);
  if (!options.tuning || *options.tuning)
    if (Status s = variants.readTuning(options.tuning, path, *program); s.failed())
      return s;
  // A program without parameters has no archive.
  if (program->parameter_count > 0)
    weights = path;
  if (program->parameter_count > 0 && !options.random_weights) {
    if (recordedWeights(*program).empty())
      return failure(kUserError, "the program was compiled without weights (--weights=none)%s: run it with "
                                 "--random-weights SEED",
                     options.weights ? ", and no archive fits it" : "");
    if (Status s = archive.open(weights.c_str(), program->weights_id); s.failed())
      return s;
    if (options.verify_weights)
      if (Status s = archive.verify(); s.failed())
        return s;
  }
  return context.parameters.open(*program, archive, options.random_weights, context.device.get(), context.job.get());
}

Status Session::open(const moert_program_list *list, const moert_session_options &options) {
  if (!list)
    return failure(kUserError, "there is no list of programs: its pointer is NULL");
  const moert_program_list &programs = *list;
  Selection selection;
  if (Status s = selectProgram(programs, options.entry, options.device, selection); s.failed())
    return s;
  program = selection.program;
  if (Status s = validateProgram(*program); s.failed())
    return s;
  if (Status s = variants.open(programs, *program); s.failed())
    return s;
  if (options.deadline_ms < 0 || options.deadline_ms > kMostDeadline)
    return failure(kUserError, "a deadline of %lld ms: expected 0..%lld", static_cast<long long>(options.deadline_ms),
                   static_cast<long long>(kMostDeadline));
  if (Status s = joinRanks(options); s.failed())
    return s;
  Status opened = openAlone(programs, selection, options);
  // The others hear why, if it failed.
  if (!context.job)
    return opened;
  Status started = context.job->start(opened, options.random_weights + archive.identity(), nccl);
  return started.failed() || !context.device ? started : openDeviceRanks(options);
}

Status Session::openAlone(const moert_program_list &programs, const Selection &selection,
                          const moert_session_options &options) {
  if (Status s = checkFeatures(program->features); s.failed())
    return s;
  if (options.variant)
    if (Status s = variants.choose(options.variant); s.failed())
      return s;
  if (options.threads < 0 || options.threads > 1024)
    return failure(kUserError, "%d threads: expected 1..1024", options.threads);
  if (Status s = openDevice(programs, selection, options); s.failed())
    return s;
  if (context.job && context.device)
    if (Status s = findDeviceProvider(options); s.failed())
      return s;
  if (Status s = openWeights(options); s.failed())
    return s;
  context.program = program;
  context.inputs.resize(program->input_count);
  context.outputs.resize(program->output_count);
  context.symbols.resize(program->symbol_count);
  context.stateOffsets.resize(program->state_count);
  if (options.trace) {
    context.trace.reset(new Trace);
    if (context.job)
      context.job->traceWaits(&context.trace->waits);
  }
  if (options.count_experts)
    context.load.reset(new ExpertLoad);
  return startPool(options);
}

Status Session::startPool(const moert_session_options &options) {
  // Ranks share the cores of their host.
  int cores = availableCores(), ranks = context.job ? context.job->ranksHere() : 1;
  context.blocks = options.threads ? options.threads : std::max(cores / ranks, 1);
  // Threads that share a core help nobody. The blocks stay as many as was asked for: results do not depend on them, but
  // a test can show that.
  int threads = context.device ? 1 : std::min<int>(context.blocks, cores);
  return context.pool.start(threads, options.pin != 0, context.job ? context.job->indexHere() * threads : 0);
}

static bool holds(const void *memory, uint64_t bytes, const void *data) {
  auto *base = static_cast<const char *>(memory), *at = static_cast<const char *>(data);
  return base && std::less_equal<>()(base, at) && std::less<>()(at, base + bytes);
}

/// Whether the address lies in memory that the next run writes or moves: that of an output.
static bool isOutputs(const std::vector<Tensor> &outputs, const void *data) {
  return std::any_of(outputs.begin(), outputs.end(), [&](const Tensor &output) {
    return holds(output.memory.data(), output.memory.capacity(), data) ||
           holds(output.whole.data(), output.whole.capacity(), data) ||
           holds(output.locked.base, output.locked.size, data);
  });
}

Status Session::setInput(int32_t index, int32_t dtype, int32_t rank, const int64_t *sizes, const void *data) {
  if (index < 0 || index >= program->input_count)
    return failure(kUserError, "there is no input %d, the program has %d", index, program->input_count);
  Tensor &input = context.inputs[index];
  input.present = false;
  const bool isPart = context.deviceValues && axesOf(*program, program->inputs[index]) != 0;
  if (Status s = checkType(*program, program->inputs[index], dtype, rank, sizes, isPart); s.failed())
    return s;
  uint64_t bytes = 0;
  tensorBytes(dtype, rank, sizes, bytes);
  const char *name = program->inputs[index].name;
  auto address = reinterpret_cast<uintptr_t>(data);
  if (context.deviceValues) {
    if (address % kDeviceAlignment != 0 || (!data && bytes))
      return failure(kUserError, "input '%s' is not at a multiple of %d bytes of the GPU's memory", name,
                     static_cast<int>(kDeviceAlignment));
  } else if (address % kArchiveAlignment != 0 || !data || isOutputs(context.outputs, data)) {
    if (!data && bytes)
      return failure(kUserError, "input '%s' has no data", name);
    if (!input.memory.reserve(bytes))
      return failure(kUserError, "out of memory: input '%s' needs %llu bytes", name,
                     static_cast<unsigned long long>(bytes));
    if (bytes)
      std::memcpy(input.memory.data(), data, bytes);
    data = input.memory.data();
  }
  input.dtype = dtype;
  input.rank = rank;
  for (int32_t i = 0; i < rank; ++i)
    input.sizes[i] = sizes[i];
  input.data = input.view = const_cast<void *>(data);
  input.present = true;
  return {};
}

Status Session::bindSymbols() {
  std::fill(context.symbols.begin(), context.symbols.end(), -1);
  for (int32_t i = 0; i < program->input_count; ++i)
    if (Status s = bindSizes(*program, i, context.inputs[i], context.symbols); s.failed())
      return s;
  return {};
}

Status Session::runOnce() {
  for (int32_t i = 0; i < program->input_count; ++i)
    if (!context.inputs[i].present)
      return failure(kUserError, "input '%s' is missing", program->inputs[i].name);
  if (Status s = bindSymbols(); s.failed())
    return s;
  context.given = context.symbols;
  for (int32_t i = 0; i < program->input_count && !context.deviceValues; ++i)
    if (Status s = checkElements(*program, i, context.inputs[i], context.symbols); s.failed())
      return s;
  const bool hadStates = context.statesLive;
  Status status = context.job ? runTogether() : runChecked();
  if (status.failed() && !hadStates) // else the states had the sizes of a call that never was
    context.resetStates();
  return status;
}

Status Session::runChecked() {
  if (context.device)
    if (Status s = context.device->begin(); s.failed())
      return s;
  if (Status s = context.prepareStates(); s.failed())
    return s;
  int64_t begin = context.trace ? now() : 0;
  Status status = context.run();
  if (!context.trace)
    return status;
  std::string sizes;
  for (int32_t s = 0; s < program->symbol_count; ++s)
    sizes += format("%s%s=%lld", s ? " " : "", program->symbols[s], static_cast<long long>(context.symbols[s]));
  context.trace->call(begin, now(), sizes);
  return status;
}

Status Session::run() {
  hasOutputs = false;
  Status status = runOnce();
  for (Tensor &input : context.inputs)
    input.present = false;
  hasOutputs = !status.failed();
  return status;
}

Status Session::output(int32_t index, moert_tensor *output) const {
  if (!hasOutputs)
    return failure(kUserError, "there are no outputs: no run has succeeded");
  if (index < 0 || index >= program->output_count)
    return failure(kUserError, "there is no output %d, the program has %d", index, program->output_count);
  if (!output)
    return failure(kUserError, "there is no place for output '%s': the pointer is NULL", program->outputs[index].name);
  if (context.deviceRanks && context.deviceValues)
    if (Status s = context.deviceRanks->lookBack(program->entry); s.failed())
      return context.job->fail(s);
  const Tensor &tensor = context.outputs[index];
  output->dtype = tensor.dtype;
  output->rank = tensor.rank;
  for (int32_t i = 0; i < MOERT_MAX_RANK; ++i)
    output->sizes[i] = i < tensor.rank ? tensor.sizes[i] : 0;
  output->data = tensor.data;
  return {};
}

Status Session::writeTrace(const char *path) const {
  if (!context.trace)
    return failure(kUserError, "the session was opened without a trace");
  if (!path)
    return failure(kUserError, "there is no file for the trace: its name is NULL");
  if (context.job)
    return writeRankTraces(path);
  Status status = checkTrace(path);
  return status.failed() ? status : context.trace->write(path, program->name);
}

Status Session::checkTrace(const char *path) const {
  Place place(path, OutputFile::Links::Follow);
  if (!place.isInTheWay())
    return {};
  const std::pair<const char *, std::string> files[] = {{"the program's archive of weights", weights},
                                                        {"the executable", ownExecutable()},
                                                        {"the program's library", fileOf(*program)}};
  for (const auto &[what, file] : files)
    if (!file.empty() && place.isSameAs(Place(file, OutputFile::Links::Follow)))
      return failure(kUserError, "the trace%s would replace %s: give it another name", bothNames(path, file).c_str(),
                     what);
  return {};
}
