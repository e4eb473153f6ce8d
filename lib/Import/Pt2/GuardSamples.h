//===- GuardSamples.h - sizes to try expressions with ----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_GUARDSAMPLES_H
#define MOE_MLIR_LIB_IMPORT_PT2_GUARDSAMPLES_H

#include "GuardText.h"

#include "llvm/ADT/StringMap.h"

#include <random>

namespace moe_mlir::pt2 {

/// Values of symbols.
using SizeSample = llvm::StringMap<double>;

/// Draws sizes of 2 and more at which two expressions differ if they are not one: small ones, for which conditions hold
/// that tie several of them together, ones of all magnitudes, and ones around the numbers that the expressions have,
/// since `n % 4096` is `n` below 4096. In half of the samples each size is of a kind of its own, since `m % (n**3)` is
/// `m` for others. The same ones each time.
class SampleDraws {
public:
  void addNumbersOf(const GuardTerm &term);
  /// The sizes that are drawn until the next call are of one kind.
  void beginSample() { ++kind; }
  double draw();

private:
  std::mt19937 random = std::mt19937(1);
  unsigned kind = 0;
  std::vector<double> numbers; ///< different ones
};

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_GUARDSAMPLES_H
