//===- Promotion.h - the type in which operands meet ------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_ATEN_IR_PROMOTION_H
#define MOE_MLIR_DIALECT_ATEN_IR_PROMOTION_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include <optional>

namespace mlir::aten {

/// An element type. The default one of floats is not in the file: any floating type may be it, and it has no `type`.
struct Element {
  Type type;
};

/// Truth values (0), whole numbers, floats, complex numbers (3).
int category(Element element);

/// The type of the parts of complex numbers; others as they are.
Type realOf(Type type);

/// The type in which elements of two tensors of one kind meet.
Element promoteTwo(Element a, Element b);

/// What PyTorch keeps apart: tensors with dimensions, tensors without, and numbers. A later kind counts only where its
/// category is a higher one.
struct Promotion {
  std::optional<Element> kinds[3];

  void add(Value value);
  void add(CallOp call, Attribute argument);
  std::optional<Element> get() const;
};

} // namespace mlir::aten

#endif // MOE_MLIR_DIALECT_ATEN_IR_PROMOTION_H
