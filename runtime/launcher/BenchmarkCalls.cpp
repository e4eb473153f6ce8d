//===- BenchmarkCalls.cpp - time of calls on random inputs --------------------------------------------------------===//
//
// For programs that are no language models, as the MoE layers of one. Floating-point inputs are as random weights are
// (RandomWeights.h); integers are uniform in the bounds that the program states for them.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Console.h"
#include "Measurements.h"
#include "Modes.h"
#include "Repetitions.h"
#include "core/RandomWeights.h"
#include "core/Trace.h"

#include <algorithm>

namespace moert {

namespace {

class CallBenchmark : public Measurement {
public:
  CallBenchmark(moert_session *session, const moert_program &program, const Options &options)
      : session(session), program(program), options(options) {}
  Status run();
  Status measure(bool counts, std::string &line) override;

private:
  Status bindSizes();
  Status makeInputs();
  void fillIntegers(const moert_value &value, Tensor &input) const;
  Status call(int64_t &time);
  Status report() const;

  moert_session *session;
  const moert_program &program;
  const Options &options;
  std::vector<int64_t> symbols;
  std::vector<Tensor> inputs;
  std::vector<int64_t> times; // nanoseconds
};

} // namespace

/// Sizes of symbols that inputs have; the others are the program's to find out.
Status CallBenchmark::bindSizes() {
  symbols.assign(static_cast<size_t>(program.symbol_count), -1);
  for (const NamedSize &size : options.sizes) {
    auto named = [&](const char *name) { return size.name == name; };
    auto *end = program.symbols + program.symbol_count, *found = std::find_if(program.symbols, end, named);
    if (found == end)
      return failure(kUserError, "--size: the model has no size '%s' (--info shows the sizes)", size.name.c_str());
    symbols[static_cast<size_t>(found - program.symbols)] = size.value;
  }
  for (int32_t i = 0; i < program.input_count; ++i)
    for (int32_t d = 0; d < program.inputs[i].rank; ++d) {
      int64_t size = program.inputs[i].sizes[d];
      if (size < 0 && resolveSize(size, symbols) < 0)
        return failure(kUserError, "--benchmark needs to know the size of '%s': give it by --size %s=N",
                       program.symbols[-(size + 1)], program.symbols[-(size + 1)]);
    }
  return {};
}

void CallBenchmark::fillIntegers(const moert_value &value, Tensor &input) const {
  int64_t count = elementCount(input.rank, input.sizes), low = value.lo, high = value.hi;
  if (low > high)
    low = high = 0; // no bounds: nothing but zero is known to be legal
  else if (value.symbol >= 0)
    high = std::max(low, high + 1 - symbols[static_cast<size_t>(value.symbol)]);
  for (int64_t i = 0; i < count; ++i) {
    Philox random(options.sampling.seed, static_cast<uint64_t>(value.uniform ? 0 : i), 2);
    int64_t element = low + static_cast<int64_t>(random.uniform() * (static_cast<double>(high - low) + 1));
    auto bytes = dtypeSize(value.dtype);
    // Little-endian: the low bytes of the number are the narrower number.
    std::memcpy(static_cast<char *>(input.data) + static_cast<uint64_t>(i) * bytes, &element, bytes);
  }
}

Status CallBenchmark::makeInputs() {
  inputs.resize(static_cast<size_t>(program.input_count));
  for (int32_t i = 0; i < program.input_count; ++i) {
    const moert_value &value = program.inputs[i];
    Tensor &input = inputs[static_cast<size_t>(i)];
    input.dtype = value.dtype;
    input.rank = value.rank;
    for (int32_t d = 0; d < value.rank; ++d)
      input.sizes[d] = resolveSize(value.sizes[d], symbols);
    uint64_t bytes = 0;
    if (!tensorBytes(value.dtype, value.rank, input.sizes, bytes) || !input.memory.reserve(bytes))
      return failure(kUserError, "out of memory: input '%s' is too large", value.name);
    input.data = input.memory.data();
    bool floating = value.dtype <= MOERT_F64;
    if (floating)
      fillRandom(options.sampling.seed, value.name, value.dtype, input.data, bytes);
    else
      fillIntegers(value, input);
  }
  return {};
}

Status CallBenchmark::call(int64_t &time) {
  moert_session_reset(session);
  int64_t begin = now();
  int32_t code = 0;
  for (size_t i = 0; i < inputs.size() && !code; ++i)
    code = moert_session_set_input(session, static_cast<int32_t>(i), inputs[i].dtype, inputs[i].rank, inputs[i].sizes,
                                   inputs[i].data);
  if (!code)
    code = moert_session_run(session);
  time = now() - begin;
  return sessionStatus(session, code);
}

Status CallBenchmark::measure(bool counts, std::string &line) {
  int64_t time = 0;
  Status s = call(time);
  line = format("{\"call_ns\": %lld}\n", static_cast<long long>(time));
  if (counts)
    times.push_back(time);
  return s;
}

Status CallBenchmark::report() const {
  std::string sizes;
  for (const NamedSize &size : options.sizes)
    sizes += format("%s %lld, ", size.name.c_str(), static_cast<long long>(size.value));
  std::string text = format("%s: %s%zu calls on %s, %d threads, seed %llu%s\n%s", program.entry, sizes.c_str(),
                            times.size(), moert_session_device(session), moert_session_threads(session),
                            static_cast<unsigned long long>(options.sampling.seed),
                            program.device == MOERT_CUDA ? "; a time includes the copies of inputs and outputs" : "",
                            timeHeader("calls/s").c_str());
  return print(text + timeRow("call", times, 1) + memoryLine(session) + trafficLines(session, program) +
               loadTable(session));
}

Status CallBenchmark::run() {
  if (Status s = bindSizes(); s.failed())
    return s;
  if (Status s = makeInputs(); s.failed())
    return s;
  Status s = repeat(session, options, *this);
  return s.failed() || options.wait ? s : report();
}

Status benchmarkCalls(moert_session *session, const moert_program &program, const Options &options) {
  if (options.promptTokens >= 0 || options.decodeTokens >= 0 || options.batch >= 0)
    return failure(kUserError, "--prompt-tokens, --decode-tokens and --batch are for models that generate text; "
                               "other sizes are given by --size");
  return CallBenchmark(session, program, options).run();
}

} // namespace moert
