//===- ShapeCheck.h - agreement of an op's shapes, by symbol --------------------------------------------*- C++ -*-===//
//
// A verifier names the shape of each value once ("weights" is ["T", "k"]); ranks and static sizes that do not agree
// are reported with both values.
//
//===---------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_SUPPORT_SHAPECHECK_H
#define MOE_MLIR_SUPPORT_SHAPECHECK_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <utility>

namespace moe_mlir {

/// The shape of one value of an op: the name in messages, and what `ShapeCheck::shape` takes for its dimensions.
struct NamedShape {
  llvm::StringRef name;
  mlir::Value value;
  llvm::SmallVector<llvm::StringRef, 4> dims;
};

/// The operand, and its dimension, that have the size of dimension `dim` of a result: the first with the same symbol in
/// `shapes`, the shapes of the result's op. Nothing if no operand has that symbol.
std::optional<std::pair<mlir::Value, int64_t>> findSameSize(llvm::ArrayRef<NamedShape> shapes, mlir::OpResult result,
                                                            int64_t dim);

class ShapeCheck {
public:
  explicit ShapeCheck(mlir::Operation *op) : op(op) {}

  /// States that `symbol` has `size` because of `name`; a dynamic size states nothing.
  ShapeCheck &size(llvm::StringRef symbol, int64_t size, llvm::StringRef name);

  /// States the shape of the value called `name`. A dimension is a symbol, or "1|B": 1 or the size of B. A leading
  /// "..." stands for any number of dimensions that are the same in every value that has it.
  ShapeCheck &shape(llvm::StringRef name, mlir::Type type, llvm::ArrayRef<llvm::StringRef> dims);

  /// States all of them.
  ShapeCheck &shapes(llvm::ArrayRef<NamedShape> shapes);

  /// States that two values have one element type.
  ShapeCheck &sameElement(llvm::StringRef name, mlir::Type type, llvm::StringRef otherName, mlir::Type other);

  /// The size of a symbol, or ShapedType::kDynamic.
  int64_t lookup(llvm::StringRef symbol) const;

  /// Failure if anything was reported; only the first fault is.
  mlir::LogicalResult result() const { return mlir::failure(failed); }

private:
  struct Binding {
    int64_t size;
    std::string name;
  };

  mlir::InFlightDiagnostic fail();
  void leading(llvm::StringRef name, llvm::ArrayRef<int64_t> sizes);

  mlir::Operation *op;
  llvm::StringMap<Binding> symbols;
  std::optional<llvm::SmallVector<int64_t>> rows;
  std::string rowsName;
  bool failed = false;
};

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_SHAPECHECK_H
