//===- BenchmarkCalls.cpp - time of calls on random inputs --------------------------------------------------------===//
//
// For programs that are no language models, as the MoE layers of one.
//
//===--------------------------------------------------------------------------------------------------------------===//

#include "Console.h"
#include "Measurements.h"
#include "Modes.h"
#include "RandomCall.h"
#include "Repetitions.h"

namespace moert {

namespace {

class CallBenchmark : public Measurement {
public:
  CallBenchmark(moert_session *session, const moert_program &program, const Options &options)
      : session(session), program(program), options(options), call(session, program, options.sampling.seed) {}
  Status run();
  Status measure(bool counts, std::string &line) override;

private:
  Status report() const;

  moert_session *session;
  const moert_program &program;
  const Options &options;
  RandomCall call;
  std::vector<int64_t> times; // nanoseconds
};

} // namespace

Status CallBenchmark::measure(bool counts, std::string &line) {
  int64_t time = 0;
  Status s = call.run(time);
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
  return print(text + timeRow("call", times, 1) + variantLine(session) + memoryLine(session) +
               trafficLines(session, program) + loadTable(session));
}

Status CallBenchmark::run() {
  if (Status s = call.make("--benchmark", options.sizes); s.failed())
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
