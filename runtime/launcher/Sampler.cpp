//===- Sampler.cpp - the next token from the logits ---------------------------------------------------------------===//

#include "Sampler.h"

#include <algorithm>
#include <cmath>

namespace moert {

Philox::Philox(uint64_t key, uint64_t low, uint64_t high) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c[4] = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
                   static_cast<uint32_t>(high >> 32)};
  for (int round = 0; round < 10; ++round, k0 += 0x9e3779b9, k1 += 0xbb67ae85) {
    uint64_t a = uint64_t(0xd2511f53) * c[0], b = uint64_t(0xcd9e8d57) * c[2];
    uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(b),
                        static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(a)};
    std::copy(next, next + 4, c);
  }
  std::copy(c, c + 4, out);
}

double Philox::uniform() const {
  uint64_t bits = static_cast<uint64_t>(out[1]) << 32 | out[0];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// The largest logit; its index, or -1 - i if logit i is not a number.
static int64_t argmax(const float *logits, int64_t count) {
  int64_t best = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(logits[i]))
      return -1 - i;
    if (logits[i] > logits[best])
      best = i;
  }
  return best;
}

void Sampler::note(int64_t token) {
  auto place = std::lower_bound(noted.begin(), noted.end(), token);
  if (place == noted.end() || *place != token)
    noted.insert(place, token);
}

const float *Sampler::withPenalty(const float *logits, int64_t count) {
  if (sampling.repetitionPenalty == 1)
    return logits;
  const auto penalty = static_cast<float>(sampling.repetitionPenalty);
  penalized.assign(logits, logits + count);
  for (int64_t token : noted)
    if (token < count)
      penalized[token] = logits[token] < 0 ? logits[token] * penalty : logits[token] / penalty;
  return penalized.data();
}

/// Cuts the candidates to what top-k and top-p leave of them; returns its mass.
double Sampler::keepMostProbable() {
  auto isBefore = [](const Candidate &a, const Candidate &b) {
    return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
  };
  double all = 1;
  if (sampling.topK > 0 && static_cast<size_t>(sampling.topK) < candidates.size()) {
    std::partial_sort(candidates.begin(), candidates.begin() + sampling.topK, candidates.end(), isBefore);
    candidates.resize(static_cast<size_t>(sampling.topK));
    all = 0;
    for (const Candidate &candidate : candidates)
      all += candidate.probability;
  } else if (sampling.topP < 1) {
    std::sort(candidates.begin(), candidates.end(), isBefore);
  }
  if (sampling.topP >= 1)
    return all;
  double mass = 0;
  size_t kept = 0;
  while (kept < candidates.size() && mass < sampling.topP * all)
    mass += candidates[kept++].probability;
  candidates.resize(std::max<size_t>(kept, 1));
  return mass;
}

Status Sampler::choose(const float *logits, int64_t count, uint64_t step, int64_t &token) {
  logits = withPenalty(logits, count);
  int64_t best = argmax(logits, count);
  if (best < 0)
    return failure(kUserError, "the model's logit for token %lld is not a number", static_cast<long long>(-1 - best));
  token = best;
  float top = logits[best];
  if (sampling.temperature == 0 || std::isinf(top))
    return {};

  double total = 0;
  for (int64_t i = 0; i < count; ++i)
    total += std::exp((logits[i] - static_cast<double>(top)) / sampling.temperature);
  // Tokens below this bound together stay below 1 - top-p, so none of them is in the set; only the others are sorted.
  // With top-k this does not hold: top-p is a share of the mass that top-k leaves.
  const bool isOfAll = sampling.topK == 0 || sampling.topK >= count;
  const bool hasBound = sampling.topP < 1 && isOfAll && count > 1;
  double bound = hasBound ? (1 - sampling.topP) / static_cast<double>(count - 1) : 0;
  candidates.clear();
  for (int64_t i = 0; i < count; ++i) {
    double p = std::exp((logits[i] - static_cast<double>(top)) / sampling.temperature) / total;
    if (p >= bound && p > 0)
      candidates.push_back({p, i});
  }
  double mass = candidates.empty() ? 1 : keepMostProbable();
  if (sampling.minP > 0) {
    auto isRare = [&](const Candidate &candidate) { return candidate.probability < sampling.minP / total; };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), isRare), candidates.end());
    mass = 0;
    for (const Candidate &candidate : candidates)
      mass += candidate.probability;
  }
  double rest = Philox(sampling.seed, step, 0).uniform() * mass;
  for (const Candidate &candidate : candidates) {
    token = candidate.token;
    if ((rest -= candidate.probability) < 0)
      break;
  }
  return {};
}

} // namespace moert
