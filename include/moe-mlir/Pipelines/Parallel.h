//===- Parallel.h - how a program is divided among ranks ------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_PIPELINES_PARALLEL_H
#define MOE_MLIR_PIPELINES_PARALLEL_H

#include "moe-mlir/Pipelines/ExpertOrders.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace moe_mlir {

/// Groups of a sum where nobody says another number.
constexpr int64_t kDefaultGroups = 8;

/// What `moe-compile --parallel` and the option of moe-partition say: "ep=4,tokens=split,groups=8". A job has a rank
/// for each combination of `dp`, `ep` and `etp` or `tp`; the last one varies fastest.
struct ParallelSpec {
  enum class Tokens { Split, Replicated };
  enum class Sums { F32, BF16 };

  int64_t ranks = 1;             ///< ep: ranks that share the experts of each layer
  int64_t nodes = 1;             ///< equal parts of those, to each of which a token travels once
  int64_t slices = 1;            ///< etp: ranks that share each expert
  int64_t tensors = 1;           ///< tp: ranks that share attention and dense layers; those of etp
  int64_t copies = 1;            ///< dp: ranks that share nothing but the batch
  std::optional<Tokens> tokens;  ///< None: split where the first input can be.
  std::optional<int64_t> groups; ///< None: 8, or as many as divide the experts.
  std::optional<Sums> sums;      ///< What a rank's sum of a token is rounded to before another rank gets it. None: f32.
  std::shared_ptr<const ExpertOrders> experts; ///< Null: ordered by number.

  /// Ranks that have the same tokens and the same experts.
  int64_t sharers() const { return std::max(slices, tensors); }
  /// Whether tokens travel to nodes, and there to ranks: with one rank in each node, or one node, one way is enough.
  bool isNested() const { return nodes > 1 && nodes < ranks; }
};

/// None with a message in `error`, a part of a sentence, if the text is none.
std::optional<ParallelSpec> parseParallel(llvm::StringRef text, std::string &error);

/// Variants give the same numbers, of the same weights: takes groups, sums and experts from `first` where `spec` does
/// not say them. Nothing, or why the two do not belong together, a part of a sentence.
std::string inheritNumbers(ParallelSpec &spec, const ParallelSpec &first);

/// Nothing, or why the experts of a layer cannot be cut into the slices of `spec`, a part of a sentence.
std::string whyNotSliced(const ParallelSpec &spec, int64_t hidden);

/// The groups that a layer's sum has, the same for every number of ranks that shares its experts. None with a message
/// in `error` if there are none of that kind.
std::optional<int64_t> sumGroups(const ParallelSpec &spec, int64_t experts, std::string &error);

} // namespace moe_mlir

#endif // MOE_MLIR_PIPELINES_PARALLEL_H
