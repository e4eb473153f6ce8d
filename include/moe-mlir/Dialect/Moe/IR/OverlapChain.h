//===- OverlapChain.h - the ops whose exchanges can run under products ----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_MOE_IR_OVERLAPCHAIN_H
#define MOE_MLIR_DIALECT_MOE_IR_OVERLAPCHAIN_H

#include "moe-mlir/Dialect/Moe/IR/Moe.h"

#include <optional>

namespace mlir::moe {

/// Experts of a layer of several ranks, the exchange that brings their rows and the one that takes their sums away. What
/// goes from one op to the next nothing else reads, so it can go piece by piece.
struct OverlapChain {
  AllToAllOp there;
  DispatchOp here;
  ExpertOp expert;
  CombineOp sum;
  AllToAllOp back;

  /// The chain around `expert`. None if its ops are others: `why` then follows the expert's name in an error.
  static std::optional<OverlapChain> around(ExpertOp expert, std::string &why);
};

/// The chain around `expert` if its schedule overlaps.
std::optional<OverlapChain> overlapOf(ExpertOp expert);
/// The chain that sends its rows with this op and overlaps.
std::optional<OverlapChain> overlapOf(AllToAllOp there);

} // namespace mlir::moe

#endif // MOE_MLIR_DIALECT_MOE_IR_OVERLAPCHAIN_H
