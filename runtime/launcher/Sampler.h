//===- Sampler.h - the next token from the logits -----------------------------------------------------------------===//
#ifndef MOERT_LAUNCHER_SAMPLER_H
#define MOERT_LAUNCHER_SAMPLER_H

#include "core/Status.h"

#include <vector>

namespace moert {

/// Philox4x32-10, a counter-based generator: the numbers depend on key and counter alone, so the text of a seed depends
/// neither on threads nor on what was drawn before.
struct Philox {
  uint32_t out[4];
  Philox(uint64_t key, uint64_t low, uint64_t high);
  /// 53 bits in [0, 1).
  double uniform() const;
};

struct Sampling {
  double temperature = 0; // 0: greedy
  double topP = 1;
  uint64_t seed = 0;
  int64_t topK = 0; // 0: all tokens
  double minP = 0;
  double repetitionPenalty = 1;
};

class Sampler {
public:
  explicit Sampler(const Sampling &sampling) : sampling(sampling) {}

  /// A token stands in the text: the penalty is for it from now on (Keskar et al. 2019, CTRL, section 4.1).
  void note(int64_t token);

  /// Chooses a token, after the penalty. Greedy: the largest logit, the lowest index among equals. Otherwise by
  /// probability, filtered in the order of transformers' `generate`: the top-k most probable tokens (of equals those of
  /// lower ids, where transformers keeps more than k), of these the smallest set that reaches top-p of their mass, of
  /// these what is at least min-p times as probable as the first; `step` selects the random number. Fails if a logit is
  /// not a number.
  Status choose(const float *logits, int64_t count, uint64_t step, int64_t &token);

private:
  struct Candidate {
    double probability;
    int64_t token;
  };
  const float *withPenalty(const float *logits, int64_t count);
  double keepMostProbable();

  Sampling sampling;
  std::vector<int64_t> noted; // each once, in order
  std::vector<float> penalized;
  std::vector<Candidate> candidates;
};

} // namespace moert

#endif // MOERT_LAUNCHER_SAMPLER_H
