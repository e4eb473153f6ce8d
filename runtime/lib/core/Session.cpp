//===- Session.cpp - opening and running a program ----------------------------------------------------------------===//

#include "core/Session.h"

#include "cpu/Features.h"

#include <dlfcn.h>

using namespace moert;

/// Path of the archive that belongs to the program: beside the file (executable or shared object) that holds it.
static std::string recordedWeights(const moert_program &program) {
  std::string weights = program.weights;
  Dl_info info;
  if (weights.empty() || weights[0] == '/' || !dladdr(&program, &info) || !info.dli_fname)
    return weights;
  std::string file = info.dli_fname;
  size_t slash = file.rfind('/');
  return slash == std::string::npos ? weights : file.substr(0, slash + 1) + weights;
}

Status moert_session::open(const moert_program_list &programs, const moert_session_options &options) {
  Selection selection;
  if (Status s = selectProgram(programs, options.entry, options.device, selection); s.failed())
    return s;
  program = selection.program;
  if (Status s = validateProgram(*program); s.failed())
    return s;
  if (program->device != MOERT_CPU)
    return failure(kInternal, "the program needs a runtime with CUDA, which is not linked into this file");
  if (Status s = checkFeatures(program->features); s.failed())
    return s;
  if (options.threads < 0 || options.threads > 1024)
    return failure(kUserError, "%d threads: expected 1..1024", options.threads);
  // A program without parameters has no archive.
  if (program->parameter_count > 0) {
    std::string path = options.weights ? options.weights : recordedWeights(*program);
    if (Status s = archive.open(path.c_str(), program->build_id); s.failed())
      return s;
    if (options.verify_weights)
      if (Status s = archive.verify(); s.failed())
        return s;
  }
  if (Status s = resolveParameters(*program, archive, context.parameters); s.failed())
    return s;
  context.program = program;
  context.inputs.resize(program->input_count);
  context.outputs.resize(program->output_count);
  context.symbols.resize(program->symbol_count);
  context.stateSymbols.resize(program->symbol_count);
  context.stateOffsets.resize(program->state_count);
  if (options.trace)
    context.trace.reset(new Trace);
  if (options.count_experts)
    context.load.reset(new ExpertLoad);
  return context.pool.start(options.threads ? options.threads : availableCores(), options.pin != 0);
}

Status moert_session::setInput(int32_t index, int32_t dtype, int32_t rank, const int64_t *sizes, const void *data) {
  if (index < 0 || index >= program->input_count)
    return failure(kUserError, "there is no input %d, the program has %d", index, program->input_count);
  if (Status s = checkType(*program, program->inputs[index], dtype, rank, sizes); s.failed())
    return s;
  Tensor &input = context.inputs[index];
  uint64_t bytes = 0;
  tensorBytes(dtype, rank, sizes, bytes);
  if (reinterpret_cast<uintptr_t>(data) % kArchiveAlignment != 0 || !data) {
    if (!data && bytes)
      return failure(kUserError, "input '%s' has no data", program->inputs[index].name);
    if (!input.memory.reserve(bytes))
      return failure(kUserError, "out of memory: input '%s' needs %llu bytes", program->inputs[index].name,
                     static_cast<unsigned long long>(bytes));
    if (bytes)
      std::memcpy(input.memory.data(), data, bytes);
    data = input.memory.data();
  }
  input.dtype = dtype;
  input.rank = rank;
  for (int32_t i = 0; i < rank; ++i)
    input.sizes[i] = sizes[i];
  input.data = const_cast<void *>(data);
  input.present = true;
  return {};
}

Status moert_session::run() {
  hasOutputs = false;
  Status status;
  for (int32_t i = 0; i < program->input_count && !status.failed(); ++i)
    if (!context.inputs[i].present)
      status = failure(kUserError, "input '%s' is missing", program->inputs[i].name);
  if (!status.failed())
    status = bindSymbols(*program, context.inputs, context.symbols);
  if (!status.failed())
    status = checkElements(*program, context.inputs, context.symbols);
  if (!status.failed())
    status = context.prepareStates();
  if (!status.failed()) {
    int64_t begin = context.trace ? now() : 0;
    status = context.run();
    if (context.trace) {
      std::string sizes;
      for (int32_t s = 0; s < program->symbol_count; ++s)
        sizes += format("%s%s=%lld", s ? " " : "", program->symbols[s], static_cast<long long>(context.symbols[s]));
      context.trace->call(begin, now(), sizes);
    }
  }
  for (Tensor &input : context.inputs)
    input.present = false;
  hasOutputs = !status.failed();
  return status;
}
