//===- Promotion.h - the type in which operands meet ------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_IMPORT_PT2_PROMOTION_H
#define MOE_MLIR_LIB_IMPORT_PT2_PROMOTION_H

#include "moe-mlir/Dialect/Aten/IR/Aten.h"

#include <optional>

namespace moe_mlir::pt2 {

/// An element type. The default one of floats is not in the file: any floating type may be it, and it has no `type`.
struct Element {
  mlir::Type type;
};

/// Truth values (0), whole numbers, floats, complex numbers (3).
int category(Element element);

/// The type of the parts of complex numbers; others as they are.
mlir::Type realOf(mlir::Type type);

/// The type in which elements of two tensors of one kind meet.
Element promoteTwo(Element a, Element b);

/// What PyTorch keeps apart: tensors with dimensions, tensors without, and numbers. A later kind counts only where its
/// category is a higher one.
struct Promotion {
  std::optional<Element> kinds[3];

  void add(mlir::Value value);
  void add(mlir::aten::CallOp call, mlir::Attribute argument);
  std::optional<Element> get() const;
};

} // namespace moe_mlir::pt2

#endif // MOE_MLIR_LIB_IMPORT_PT2_PROMOTION_H
