//===- GuardStrides.cpp - guards that are not the model's ---------------------------------------------------------===//

#include "GuardStrides.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace moe_mlir::pt2;

bool moe_mlir::pt2::isAssumption(const GuardTerm &guard, size_t place, const GuardSizes &sizes) {
  return isNeitherZeroNorOne(guard) && sizes.isOfGraph(guard.operands[0], place);
}

/// `max(1, E)`, E being a size of the graph: strides count a size of 0 as 1.
static bool hasStride(const GuardTerm &term, const GuardSizes &sizes) {
  if (term.kind == GuardTerm::Max && term.operands.size() == 2)
    for (unsigned i : {0, 1})
      if (term.operands[i].isNumber(1) && sizes.isOfGraph(term.operands[1 - i]))
        return true;
  return any_of(term.operands, [&](const GuardTerm &operand) { return hasStride(operand, sizes); });
}

/// Whether it tells two strides from each other, which are the same where both are 0.
bool moe_mlir::pt2::isOfStrides(const GuardTerm &guard, const GuardSizes &sizes) {
  if (!guard.isComparison())
    return false;
  const GuardTerm &left = guard.operands[0], &right = guard.operands[1];
  const bool areDifferent = guard.kind == GuardTerm::Ne && sizes.isOfGraph(left) && sizes.isOfGraph(right) &&
                            (sizes.isComputed(left) || sizes.isComputed(right));
  return areDifferent || hasStride(guard, sizes);
}
