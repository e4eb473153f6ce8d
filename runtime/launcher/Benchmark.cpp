//===- Benchmark.cpp - tokens per second on random tokens ---------------------------------------------------------===//

#include "Console.h"
#include "Modes.h"
#include "core/OutputFile.h"
#include "core/Trace.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace moert {

namespace {

/// Times of one repetition, in nanoseconds.
struct Repetition {
  int64_t prefill = 0;
  std::vector<int64_t> decode; // by step
};

class Benchmark {
public:
  Benchmark(moert_session *session, const moert_program &program, const Options &options)
      : session(session), program(program), options(options) {}
  Status run();

private:
  Status checkSizes();
  Status repeat(Repetition &result);
  std::string json(const Repetition &r) const;
  Status report() const;
  std::string loadTable() const;

  moert_session *session;
  const moert_program &program;
  const Options &options;
  int64_t prompt = 0, steps = 0;
  std::vector<int64_t> tokens; // [batch, prompt], then [steps, batch]
  std::vector<Repetition> repetitions;
};

} // namespace

/// The q-quantile of sorted values, interpolated.
static double quantile(const std::vector<int64_t> &sorted, double q) {
  double at = q * static_cast<double>(sorted.size() - 1);
  size_t low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return static_cast<double>(sorted[low]) +
         (at - static_cast<double>(low)) * static_cast<double>(sorted[high] - sorted[low]);
}

static std::string percentiles(const char *what, std::vector<int64_t> times, int64_t tokens) {
  if (times.empty())
    return {};
  std::sort(times.begin(), times.end());
  double median = quantile(times, 0.5);
  return format("%-8s %10.3f %10.3f %10.3f %10.3f %10.3f %12.1f\n", what, static_cast<double>(times.front()) / 1e6,
                median / 1e6, quantile(times, 0.9) / 1e6, quantile(times, 0.99) / 1e6,
                static_cast<double>(times.back()) / 1e6, static_cast<double>(tokens) * 1e9 / median);
}

/// Largest resident size of this process so far, in MiB.
static double peakMemory() {
  std::string status;
  if (readAll("/proc/self/status", 1 << 20, status).failed())
    return 0;
  const char *line = std::strstr(status.c_str(), "VmHWM:");
  return line ? std::strtod(line + std::strlen("VmHWM:"), nullptr) / 1024 : 0;
}

Status Benchmark::checkSizes() {
  int64_t cache = program.generation->cache_length;
  prompt = options.promptTokens >= 0 ? options.promptTokens : std::clamp<int64_t>(cache / 2, 1, 128);
  steps = options.decodeTokens >= 0 ? options.decodeTokens : std::min<int64_t>(cache / 4, 32);
  if (prompt + steps > cache)
    return failure(kUserError, "%lld prompt and %lld decode tokens do not fit into the cache of %lld",
                   static_cast<long long>(prompt), static_cast<long long>(steps), static_cast<long long>(cache));
  tokens.resize(static_cast<size_t>(options.batch * (prompt + steps)));
  for (size_t i = 0; i < tokens.size(); ++i) {
    Philox random(options.sampling.seed, i, 1);
    tokens[i] = static_cast<int64_t>(random.uniform() * static_cast<double>(program.generation->vocab_size));
  }
  return {};
}

Status Benchmark::repeat(Repetition &result) {
  moert_session_reset(session);
  result.decode.reserve(static_cast<size_t>(steps));
  int64_t begin = now();
  if (Status s = runTokens(session, program, tokens.data(), options.batch, prompt, 0); s.failed())
    return s;
  int64_t end = now();
  result.prefill = end - begin;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t *row = tokens.data() + options.batch * (prompt + i);
    begin = end;
    if (Status s = runTokens(session, program, row, options.batch, 1, prompt + i); s.failed())
      return s;
    end = now();
    result.decode.push_back(end - begin);
  }
  return {};
}

std::string Benchmark::json(const Repetition &r) const {
  std::string text =
      format("{\"batch\": %lld, \"prompt_tokens\": %lld, \"prefill_ns\": %lld, \"decode_ns\": [",
             static_cast<long long>(options.batch), static_cast<long long>(prompt), static_cast<long long>(r.prefill));
  for (size_t i = 0; i < r.decode.size(); ++i)
    text += format(i ? ", %lld" : "%lld", static_cast<long long>(r.decode[i]));
  return text + "]}\n";
}

/// Rows per expert of all repetitions: the share of the busiest expert against an even split shows how uneven it is.
std::string Benchmark::loadTable() const {
  std::string text;
  int32_t layers = moert_session_expert_layers(session);
  if (layers)
    text += format("\n%-24s %8s %10s %10s %10s %10s %6s\n", "expert load (rows)", "experts", "min", "mean", "max",
                   "max/mean", "idle");
  for (int32_t l = 0; l < layers; ++l) {
    int32_t experts = 0;
    const int64_t *rows = nullptr;
    const char *name = moert_session_expert_load(session, l, &experts, &rows);
    int64_t total = 0, idle = 0;
    for (int32_t e = 0; e < experts; ++e)
      total += rows[e], idle += rows[e] == 0;
    int64_t low = *std::min_element(rows, rows + experts), high = *std::max_element(rows, rows + experts);
    double mean = static_cast<double>(total) / experts;
    text += format("%-24s %8d %10lld %10.1f %10lld %10.2f %6lld\n", name, experts, static_cast<long long>(low), mean,
                   static_cast<long long>(high), mean > 0 ? static_cast<double>(high) / mean : 0.0,
                   static_cast<long long>(idle));
    text += "  by expert:";
    for (int32_t e = 0; e < experts; ++e)
      text += format(" %lld", static_cast<long long>(rows[e]));
    text += "\n";
  }
  return text;
}

Status Benchmark::report() const {
  std::vector<int64_t> prefill, decode;
  for (const Repetition &r : repetitions) {
    prefill.push_back(r.prefill);
    decode.insert(decode.end(), r.decode.begin(), r.decode.end());
  }
  std::string text =
      format("batch %lld, prompt %lld tokens, %lld decode steps, %zu repetitions, %d threads, seed %llu\n"
             "%-8s %10s %10s %10s %10s %10s %12s\n",
             static_cast<long long>(options.batch), static_cast<long long>(prompt), static_cast<long long>(steps),
             repetitions.size(), moert_session_threads(session), static_cast<unsigned long long>(options.sampling.seed),
             "ms", "min", "p50", "p90", "p99", "max", "tokens/s");
  text += percentiles("prefill", prefill, options.batch * prompt);
  text += percentiles("decode", decode, options.batch);
  text += format("memory: %.1f MiB at the peak, states %.1f MiB, scratch %.1f MiB\n", peakMemory(),
                 static_cast<double>(moert_session_state_bytes(session)) / (1 << 20),
                 static_cast<double>(moert_session_arena_bytes(session)) / (1 << 20));
  return print(text + loadTable());
}

Status Benchmark::run() {
  if (Status s = checkSizes(); s.failed())
    return s;
  // Fails now rather than after the measurement.
  OutputFile samples;
  if (!options.samples.empty())
    if (Status s = samples.open(options.samples); s.failed())
      return s;
  Repetition warm;
  if (Status s = repeat(warm); s.failed())
    return s;
  moert_session_clear_expert_load(session);
  std::string line;
  for (int64_t i = 0; i < options.repeat && (!options.wait || readLine(line)); ++i) {
    repetitions.emplace_back();
    if (Status s = repeat(repetitions.back()); s.failed())
      return s;
    if (options.wait)
      if (Status s = print(json(repetitions.back())); s.failed())
        return s;
  }
  if (repetitions.empty())
    return failure(kUserError, "the standard input ended before the first repetition");
  if (!options.samples.empty()) {
    for (const Repetition &r : repetitions)
      if (Status s = samples.write(json(r)); s.failed())
        return s;
    if (Status s = samples.commit(); s.failed())
      return s;
  }
  return options.wait ? Status{} : report();
}

Status benchmark(moert_session *session, const moert_program &program, const Options &options) {
  if (Status s = checkGeneration(program, "benchmark"); s.failed())
    return s;
  return Benchmark(session, program, options).run();
}

} // namespace moert
