//===- Benchmark.cpp - tokens per second on random tokens ---------------------------------------------------------===//

#include "Console.h"
#include "Measurements.h"
#include "Modes.h"
#include "Repetitions.h"
#include "core/Trace.h"

#include <algorithm>

namespace moert {

namespace {

/// Times of one repetition, in nanoseconds.
struct Times {
  int64_t prefill = 0;
  std::vector<int64_t> decode; // by step
};

class Benchmark : public Measurement {
public:
  Benchmark(moert_session *session, const moert_program &program, const Options &options)
      : session(session), program(program), options(options) {}
  Status run();
  Status measure(bool counts, std::string &line) override;

private:
  Status checkSizes();
  Status takeTimes(Times &result);
  std::string json(const Times &r) const;
  Status report() const;

  moert_session *session;
  const moert_program &program;
  const Options &options;
  int64_t batch = 1, prompt = 0, steps = 0;
  std::vector<int64_t> tokens; // [batch, prompt], then [steps, batch]
  std::vector<Times> repetitions;
  int32_t prefillVariant = 0, decodeVariant = 0;
};

} // namespace

Status Benchmark::checkSizes() {
  int64_t cache = program.generation->cache_length;
  batch = options.batch >= 0 ? options.batch : 1;
  prompt = options.promptTokens >= 0 ? options.promptTokens : std::clamp<int64_t>(cache / 2, 1, 128);
  steps = options.decodeTokens >= 0 ? options.decodeTokens : std::min<int64_t>(cache / 4, 32);
  if (prompt + steps > cache)
    return failure(kUserError, "%lld prompt and %lld decode tokens do not fit into the cache of %lld",
                   static_cast<long long>(prompt), static_cast<long long>(steps), static_cast<long long>(cache));
  tokens.resize(static_cast<size_t>(batch * (prompt + steps)));
  for (size_t i = 0; i < tokens.size(); ++i) {
    Philox random(options.sampling.seed, i, 1);
    tokens[i] = static_cast<int64_t>(random.uniform() * static_cast<double>(program.generation->vocab_size));
  }
  return {};
}

Status Benchmark::takeTimes(Times &result) {
  moert_session_reset(session);
  result.decode.reserve(static_cast<size_t>(steps));
  int64_t begin = now();
  if (Status s = runTokens(session, program, tokens.data(), batch, prompt, 0); s.failed())
    return s;
  int64_t end = now();
  result.prefill = end - begin;
  prefillVariant = decodeVariant = moert_session_variant(session);
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t *row = tokens.data() + batch * (prompt + i);
    begin = end;
    if (Status s = runTokens(session, program, row, batch, 1, prompt + i); s.failed())
      return s;
    end = now();
    result.decode.push_back(end - begin);
    decodeVariant = moert_session_variant(session);
  }
  return {};
}

Status Benchmark::measure(bool counts, std::string &line) {
  Times times;
  Status s = takeTimes(times);
  line = json(times);
  if (counts)
    repetitions.push_back(times);
  return s;
}

std::string Benchmark::json(const Times &r) const {
  std::string text =
      format("{\"batch\": %lld, \"prompt_tokens\": %lld, \"prefill_ns\": %lld, \"decode_ns\": [",
             static_cast<long long>(batch), static_cast<long long>(prompt), static_cast<long long>(r.prefill));
  for (size_t i = 0; i < r.decode.size(); ++i)
    text += format(i ? ", %lld" : "%lld", static_cast<long long>(r.decode[i]));
  return text + "]}\n";
}

Status Benchmark::report() const {
  std::vector<int64_t> prefill, decode;
  for (const Times &r : repetitions) {
    prefill.push_back(r.prefill);
    decode.insert(decode.end(), r.decode.begin(), r.decode.end());
  }
  std::string text =
      format("batch %lld, prompt %lld tokens, %lld decode steps, %zu repetitions, %d threads, seed %llu\n"
             "%s",
             static_cast<long long>(batch), static_cast<long long>(prompt), static_cast<long long>(steps),
             repetitions.size(), moert_session_threads(session), static_cast<unsigned long long>(options.sampling.seed),
             timeHeader("tokens/s").c_str());
  text += timeRow("prefill", prefill, batch * prompt);
  text += timeRow("decode", decode, batch);
  return print(text + variantLine(session, prefillVariant, decodeVariant) + memoryLine(session) +
               trafficLines(session, program) + loadTable(session));
}

Status Benchmark::run() {
  if (Status s = checkSizes(); s.failed())
    return s;
  Status s = repeat(session, options, *this);
  return s.failed() || options.wait ? s : report();
}

Status benchmark(moert_session *session, const moert_program &program, const Options &options) {
  if (!program.generation || !options.sizes.empty())
    return benchmarkCalls(session, program, options);
  return Benchmark(session, program, options).run();
}

} // namespace moert
