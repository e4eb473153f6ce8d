//===- RankValues.h - inputs and outputs that ranks have parts of -------------------------------------------------===//
//
// Every rank is given all of an input, and gets all of an output: who computes which part of it is the program's
// business alone.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_RANKVALUES_H
#define MOERT_LIB_CORE_RANKVALUES_H

#include "comm/Job.h"
#include "core/Inputs.h"

namespace moert {

class RankValues {
public:
  /// Replaces each input that is divided by the part of this rank, which may be empty.
  static Status divide(Job &job, const moert_program &program, std::vector<Tensor> &inputs);
  /// Replaces each output that is divided by all ranks' parts, one after the other.
  Status gather(Job &job, const moert_program &program, std::vector<Tensor> &outputs);

private:
  Status gatherOne(Job &job, ControlGroup &ranks, const char *name, Tensor &output);

  std::vector<uint64_t> sizes; // of the parts, in bytes; kept from call to call
};

} // namespace moert

#endif // MOERT_LIB_CORE_RANKVALUES_H
