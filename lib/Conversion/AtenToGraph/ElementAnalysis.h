//===- ElementAnalysis.h - what an element of an index or mask tensor is -------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_ELEMENTANALYSIS_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_ELEMENTANALYSIS_H

#include "SizeAnalysis.h"

namespace mlir::aten {

/// An integer, or a truth value as a conjunction of `expression <= 0` (no terms: true).
struct Element {
  enum Kind { Unknown, Integer, Boolean } kind = Unknown;
  SizeExpr integer;
  SmallVector<SizeExpr> conditions;

  static Element number(SizeExpr value) { return {Integer, std::move(value), {}}; }
  static Element truth(bool value) {
    return {Boolean, {}, value ? SmallVector<SizeExpr>{} : SmallVector<SizeExpr>{SizeExpr(1)}};
  }
  static Element condition(SizeExpr notPositive);
  bool isTrue() const { return kind == Boolean && conditions.empty(); }
  bool isFalse() const { return kind == Boolean && conditions.size() == 1 && conditions[0] == SizeExpr(1); }
};

/// Evaluates integer and boolean tensors element by element, as functions of coordinates. Views, broadcasts, `arange`,
/// arithmetic and comparisons are followed up to arguments, whose elements become symbols.
class ElementAnalysis {
public:
  static constexpr unsigned maxCoordinates = 4;
  /// The coordinate with that number as an expression.
  static SizeExpr coordinate(unsigned number) { return SizeExpr::symbol(number); }

  /// The element of `tensor` at `index` (one expression per dimension).
  Element evaluate(Value tensor, ArrayRef<SizeExpr> index);
  /// The element of `tensor`, broadcast to coordinates 0 ... rank-1.
  Element evaluateBroadcast(Value tensor, unsigned rank);
  /// A size in this analysis' numbering.
  SizeExpr getSize(Value tensor, int64_t dim) { return import(sizes.getSize(tensor, dim)); }

  /// A 1-D tensor of `size` i64 elements whose element b is `element` with coordinate 0 = b; null if it cannot be
  /// built. An argument that is only read at its first element stands for all its elements if it is as long as wanted;
  /// it is then marked `moe.uniform`.
  Value materializeRow(OpBuilder &builder, Location loc, const SizeExpr &element, Value like, int64_t likeDim);

private:
  struct Load {
    Value tensor;
    SmallVector<SizeExpr> index;
  };
  SizeExpr import(const SizeExpr &size);
  Element load(Value tensor, ArrayRef<SizeExpr> index);
  Element evaluateCall(CallOp call, ArrayRef<SizeExpr> index);
  Element evaluateOperand(CallOp call, StringRef name, ArrayRef<SizeExpr> index);
  Element evaluateDiff(CallOp call, ArrayRef<SizeExpr> index);
  Element evaluateIndex(CallOp call, ArrayRef<SizeExpr> index);

  SizeAnalysis sizes;
  std::vector<Load> loads;
};

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_ELEMENTANALYSIS_H
