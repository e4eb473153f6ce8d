//===- GuardSizes.h - which expressions of guards are sizes of the graph --------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_GUARDSIZES_H
#define MOE_MLIR_LIB_IMPORT_PT2_GUARDSIZES_H

#include "GuardSamples.h"
#include "moe-mlir/Support/UntrustedJson.h"

#include "llvm/ADT/StringSet.h"

#include <map>
#include <set>

namespace moe_mlir::pt2 {

/// Tracing writes guards of a model's branches and, in the same words, what it assumes of the sizes, strides and numbers of
/// elements of the tensors that it makes. This tells them apart. Two expressions are taken to be one if they have the same
/// values for samples of the inputs' sizes for which all guards hold.
class GuardSizes {
public:
  /// `inputs`: the names of the program's inputs among the values of the graph.
  GuardSizes(const JsonObject &values, const llvm::StringSet<> &inputs, llvm::ArrayRef<GuardTerm> guards);

  /// A size of a tensor of the graph, or a product of sizes that are neighbours in one.
  bool isOfGraph(const GuardTerm &term) const;
  /// The same, also where that guard does not hold: `n % 2` in `n % 2 != 0` is no dimension of size 1.
  bool isOfGraph(const GuardTerm &term, size_t guard) const;
  /// Such a one that is neither a number nor the size of an input.
  bool isComputed(const GuardTerm &term) const;

private:
  using Values = std::vector<double>;
  using Product = std::vector<GuardTerm>;

  void findSamples(llvm::ArrayRef<GuardTerm> guards);
  double valueOf(const GuardTerm &term, const SizeSample &sample) const;
  /// For each sample.
  Values valuesOf(const GuardTerm &term) const;

  /// Of each dimension of an input: its size.
  llvm::StringMap<std::vector<GuardTerm>> inputSizes;
  std::vector<SizeSample> samples;
  std::vector<std::vector<SizeSample>> violations; ///< of each guard that may be dropped, where no other ones fail
  std::map<Values, std::vector<Product>> sizes;    ///< what has these values
  std::set<Values> inputValues;
};

/// The sizes of a value of the graph; nothing for one that has other ones than numbers and expressions that can be read.
std::optional<std::vector<GuardTerm>> readSizes(const JsonObject &values, llvm::StringRef name);

/// `E != 1`, `E != 0`, `E >= 2` or `E > 1`, as tracing says it of a size.
bool isNeitherZeroNorOne(const GuardTerm &guard);

/// Whether two sizes are one, whatever their symbols are.
bool areSame(const GuardTerm &one, const GuardTerm &other);

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_GUARDSIZES_H
