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
};

class Sampler {
public:
  explicit Sampler(const Sampling &sampling) : sampling(sampling) {}

  /// Chooses a token. Greedy: the largest logit, the lowest index among equals. Otherwise by probability, from the
  /// smallest set of most probable tokens whose probabilities reach top-p; `step` selects the random number.
  /// Fails if a logit is not a number.
  Status choose(const float *logits, int64_t count, uint64_t step, int64_t &token);

private:
  struct Candidate {
    double probability;
    int64_t token;
  };
  Sampling sampling;
  std::vector<Candidate> candidates;
};

} // namespace moert

#endif // MOERT_LAUNCHER_SAMPLER_H
