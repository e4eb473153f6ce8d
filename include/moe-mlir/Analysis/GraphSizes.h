//===- GraphSizes.h - what a graph says about its sizes -----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_ANALYSIS_GRAPHSIZES_H
#define MOE_MLIR_ANALYSIS_GRAPHSIZES_H

#include "moe-mlir/Support/ShapeCheck.h"
#include "moe-mlir/Support/SizeExpr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <optional>
#include <vector>

namespace mlir::kernel {

using moe_mlir::SizeExpr;

/// Sizes of a function's values as polynomials over the sizes of its arguments, over quotients, minima and maxima of
/// those, and over what else the function computes. Arguments with one name in `moe.dims` have one size.
class GraphSizes {
public:
  explicit GraphSizes(func::FuncOp function) : function(function) {}

  SizeExpr size(Value tensor, int64_t dim);
  SizeExpr scalar(Value integer);
  SizeExpr scalar(OpFoldResult size);
  /// Tokens and slots of a layout, if an op of the function makes it.
  std::optional<std::pair<SizeExpr, SizeExpr>> pairs(Value layout);
  /// The size that arguments call by that name in `moe.dims`.
  std::optional<SizeExpr> ofName(StringRef name);
  /// Of a tensor whose type does not say it.
  std::optional<SizeExpr> derived(OpResult tensor, int64_t dim);

  SizeExpr floorDiv(const SizeExpr &size, int64_t divisor);
  SizeExpr min(const SizeExpr &x, const SizeExpr &y) { return function2(Kind::Min, x, y); }

  /// With what `assume` has said.
  SizeExpr reduce(SizeExpr size) const;
  /// From now on `size` is zero. Only what follows from the arguments alone is used; it holds everywhere.
  void assume(const SizeExpr &size);
  void assumeNotNegative(const SizeExpr &size);
  bool isNonNegative(const SizeExpr &size, unsigned depth = 0);
  /// Looks at the sizes that `op` makes; to be called in the order of the ops, so that no chain of them is deep.
  void visit(Operation *op);

  /// The last op in the function that the size depends on; none if it follows from the arguments.
  Operation *lastDefinition(const SizeExpr &size) const;
  /// Whether 64 bits hold the size and all that it is computed from. Tensors have at most 2^47 elements in
  /// a dimension: no machine has more bytes, and of inputs without elements the runtime checks it.
  bool fits(const SizeExpr &size) const;
  /// Where they may not, `whole` becomes a value that says whether they do; it stays null where they do.
  Value materialize(OpBuilder &b, Location loc, const SizeExpr &size, Value &whole) const;

private:
  enum class Kind { Dim, Scalar, FloorDiv, Rem, Min, Max };
  struct Symbol {
    Kind kind;
    Value value;                    ///< of Dim and Scalar
    int64_t dim;                    ///< of Dim
    std::vector<SizeExpr> operands; ///< of the others
    bool nonNegative;
  };
  using Terms = decltype(SizeExpr::terms);

  SizeExpr symbolOf(Value value, int64_t dim);
  SizeExpr computed(Value integer);
  SizeExpr argumentSize(BlockArgument argument, int64_t dim);
  SizeExpr function2(Kind kind, const SizeExpr &x, const SizeExpr &y);
  std::optional<SizeExpr> bySymbol(OpResult tensor, int64_t dim);
  double mostOf(unsigned symbol) const;
  SizeExpr substitute(const SizeExpr &size, unsigned symbol, const SizeExpr &by) const;

  func::FuncOp function;
  std::vector<Symbol> symbols;
  std::map<std::pair<const void *, int64_t>, unsigned> numbers;
  std::map<std::pair<const void *, int64_t>, SizeExpr> sizes; ///< of dimensions, and scalars as dimension -1
  std::map<std::tuple<Kind, Terms, Terms>, unsigned> functions;
  llvm::StringMap<unsigned> named;
  std::map<unsigned, SizeExpr> equal;
};

/// The shapes by symbol of an nn or moe op; nothing for others.
SmallVector<moe_mlir::NamedShape> shapesOf(Operation *op);

} // namespace mlir::kernel

#endif // MOE_MLIR_ANALYSIS_GRAPHSIZES_H
