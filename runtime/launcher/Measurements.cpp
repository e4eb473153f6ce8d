//===- Measurements.cpp - what benchmarks report ------------------------------------------------------------------===//

#include "Measurements.h"

#include "Console.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace moert {

/// The q-quantile of sorted values, interpolated.
static double quantile(const std::vector<int64_t> &sorted, double q) {
  double at = q * static_cast<double>(sorted.size() - 1);
  size_t low = static_cast<size_t>(at);
  size_t high = std::min(low + 1, sorted.size() - 1);
  return static_cast<double>(sorted[low]) +
         (at - static_cast<double>(low)) * static_cast<double>(sorted[high] - sorted[low]);
}

size_t fastest(std::vector<std::vector<int64_t>> times) {
  std::vector<double> medians;
  for (std::vector<int64_t> &own : times) {
    std::sort(own.begin(), own.end());
    medians.push_back(quantile(own, 0.5));
  }
  return static_cast<size_t>(std::min_element(medians.begin(), medians.end()) - medians.begin());
}

std::string timeHeader(const char *rate) {
  return format("%-8s %10s %10s %10s %10s %10s %12s\n", "ms", "min", "p50", "p90", "p99", "max", rate);
}

std::string timeRow(const char *what, std::vector<int64_t> times, int64_t count) {
  if (times.empty())
    return {};
  std::sort(times.begin(), times.end());
  double median = quantile(times, 0.5);
  return format("%-8s %10.3f %10.3f %10.3f %10.3f %10.3f %12.1f\n", what, static_cast<double>(times.front()) / 1e6,
                median / 1e6, quantile(times, 0.9) / 1e6, quantile(times, 0.99) / 1e6,
                static_cast<double>(times.back()) / 1e6, static_cast<double>(count) * 1e9 / median);
}

/// Largest resident size of this process so far, in MiB.
static double peakMemory() {
  std::string status;
  if (readAll("/proc/self/status", 1 << 20, status).failed())
    return 0;
  const char *line = std::strstr(status.c_str(), "VmHWM:");
  return line ? std::strtod(line + std::strlen("VmHWM:"), nullptr) / 1024 : 0;
}

std::string memoryLine(const moert_session *session) {
  return format("memory: %.1f MiB at the peak, states %.1f MiB, scratch %.1f MiB\n", peakMemory(),
                static_cast<double>(moert_session_state_bytes(session)) / (1 << 20),
                static_cast<double>(moert_session_arena_bytes(session)) / (1 << 20));
}

std::string variantLine(const moert_session *session, int32_t prefill, int32_t decode) {
  if (moert_session_variants(session) < 2)
    return {};
  const char *first = moert_session_variant_name(session, prefill);
  if (prefill == decode)
    return format("variant: %s\n", first);
  return format("variant: %s (prefill), %s (decode)\n", first, moert_session_variant_name(session, decode));
}

std::string variantLine(const moert_session *session) {
  return variantLine(session, moert_session_variant(session), moert_session_variant(session));
}

std::string trafficLines(const moert_session *session, const moert_program &program) {
  std::string text;
  for (int32_t axis = 0; axis < program.axis_count; ++axis) {
    int32_t ranks = 0;
    const int64_t *bytes = moert_session_traffic(session, axis, &ranks);
    bool isOwn = moert_session_program(session)->variant_axes >> axis & 1;
    if (!bytes || (!isOwn && std::none_of(bytes, bytes + ranks, [](int64_t sent) { return sent; })))
      continue;
    text += format("sent on %s by the first rank (bytes, to each rank):", program.axes[axis].name);
    for (int32_t r = 0; r < ranks; ++r)
      text += format(" %lld", static_cast<long long>(bytes[r]));
    text += "\n";
  }
  return text;
}

std::string loadTable(const moert_session *session) {
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

} // namespace moert
