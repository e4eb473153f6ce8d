//===- Einsum.h - equations of aten.einsum -----------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_ATEN_IR_EINSUM_H
#define MOE_MLIR_DIALECT_ATEN_IR_EINSUM_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include <string>

namespace mlir::aten {

/// "td,ed->te": a letter for each dimension of each operand, and of the result.
struct Einsum {
  SmallVector<Value> operands;
  SmallVector<std::string> letters; ///< of each operand
  std::string result;

  /// Of one operand, or two: the letters of operand `i` in which elements are summed before they meet the other one. Of
  /// several elements that meet one, as if the letter stood only there.
  std::string getSummed(size_t i) const;
};

/// The equation of a call of aten.einsum; nothing if it has an ellipsis or names a dimension of one operand twice (the
/// diagonal), or if it does not fit the operands, which `fits` tells apart.
std::optional<Einsum> parseEinsum(CallOp call, bool &fits);

} // namespace mlir::aten

#endif // MOE_MLIR_DIALECT_ATEN_IR_EINSUM_H
