//===- Variants.h - several ways in which ranks run one entry -----------------------------------------------------===//
//
// Between two calls a session goes from one variant to another by taking another description: all parameters of all
// variants are mapped, and whatever memory one of them needs for a call is there before any of them runs it. So nothing
// moves, and nobody waits.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOERT_LIB_CORE_VARIANTS_H
#define MOERT_LIB_CORE_VARIANTS_H

#include "core/Inputs.h"
#include "core/Tuning.h"

namespace moert {

class Variants {
public:
  /// The variants among which `program` stands: it is one of the list. Fails if they do not belong together.
  Status open(const moert_program_list &programs, const moert_program &program);
  /// Takes the variant of that name or number in each run.
  Status choose(const char *name);
  /// The same by number; below 0: as the dictionary says.
  Status choose(int32_t number);
  /// Takes the dictionary at `path` (null: that of `weights`, if there is one) unless a variant has been chosen.
  Status readTuning(const char *path, const std::string &weights, const moert_program &program);

  const std::vector<const moert_program *> &all() const { return programs; }
  int32_t count() const { return static_cast<int32_t>(programs.size()); }
  const char *name(int32_t number) const { return programs[static_cast<size_t>(number)]->variant; }
  /// "'ep=4' (0), 'dp=4' (1)"
  std::string names() const;

  /// The number of the variant for a call on these inputs, of which a rank has all.
  int32_t numberFor(const std::vector<Tensor> &inputs, int64_t ranks) const;

  /// Whether memory for a call with these sizes is there; and that it is from now on.
  bool isReserved(const std::vector<int64_t> &symbols) const;
  void setReserved(const std::vector<int64_t> &symbols);

private:
  int32_t find(const std::string &name) const;

  std::vector<const moert_program *> programs;
  int32_t chosen = -1;
  Tuning tuning;
  std::vector<std::vector<int64_t>> reserved; ///< sizes of calls, none within another
};

/// "model.tuning.json" of "model.weights": the dictionary stands beside the archive.
std::string tuningPath(const std::string &weights);

/// The largest number of tokens of a rank if `ranks` ranks share those of the call: elements of the first input, or its
/// rows if it has numbers of a token in its last dimension.
int64_t roomOf(const moert_program &program, const std::vector<Tensor> &inputs, int64_t ranks);

} // namespace moert

#endif // MOERT_LIB_CORE_VARIANTS_H
