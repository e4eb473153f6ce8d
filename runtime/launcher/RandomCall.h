//===- RandomCall.h - a call of the program on random inputs ----------------------------------------------------===//
#ifndef MOERT_LAUNCHER_RANDOMCALL_H
#define MOERT_LAUNCHER_RANDOMCALL_H

#include "Options.h"
#include "core/Inputs.h"
#include "moert/session.h"

namespace moert {

/// Floating-point inputs are as random weights are (RandomWeights.h); integers are uniform in the bounds that the
/// program states for them.
class RandomCall {
public:
  RandomCall(moert_session *session, const moert_program &program, uint64_t seed)
      : session(session), program(program), seed(seed) {}

  /// Makes the inputs; `flag` wants the sizes.
  Status make(const char *flag, const std::vector<NamedSize> &sizes);
  /// From fresh states, in nanoseconds.
  Status run(int64_t &time);
  const std::vector<Tensor> &tensors() const { return inputs; }

private:
  Status bindSizes(const char *flag, const std::vector<NamedSize> &sizes);
  void fillIntegers(const moert_value &value, Tensor &input) const;

  moert_session *session;
  const moert_program &program;
  uint64_t seed;
  std::vector<int64_t> symbols;
  std::vector<Tensor> inputs;
};

} // namespace moert

#endif // MOERT_LAUNCHER_RANDOMCALL_H
