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

  /// Gives inputs the sizes of this rank's parts, for as long as it lives. Their elements stay where they are.
  class Rehearsal {
  public:
    Rehearsal(Job &job, const moert_program &program, std::vector<Tensor> &inputs)
        : job(job), program(program), inputs(inputs) {}
    ~Rehearsal();
    /// Reserves what divide() does.
    Status begin();

  private:
    Job &job;
    const moert_program &program;
    std::vector<Tensor> &inputs;
    std::vector<int64_t> rows;
  };
  /// Reserves what gather() does, for outputs of these sizes.
  Status reserve(Job &job, const moert_program &program, std::vector<Tensor> &outputs);

private:
  /// Learns the parts of all ranks, `sizes` bytes each and `rows` rows together.
  Status learnParts(Job &job, ControlGroup &ranks, const char *name, Tensor &output, int64_t &rows);
  Status gatherOne(Job &job, ControlGroup &ranks, const char *name, Tensor &output);

  std::vector<uint64_t> sizes; // of the parts, in bytes; kept from call to call
};

} // namespace moert

#endif // MOERT_LIB_CORE_RANKVALUES_H
