//===- SizeAnalysis.h - dynamic sizes as polynomials -------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_SIZEANALYSIS_H
#define MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_SIZEANALYSIS_H

#include "moe-mlir/Support/SizeExpr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <optional>
#include <vector>

namespace mlir::aten {

class CallOp;
using moe_mlir::SizeExpr;

/// Finds what a dimension's size is in terms of the function's arguments, by walking up through aten, nn, moe, tensor
/// and linalg ops. Arguments with equal names in `moe.dims` have equal sizes. An analysis refers to values and is made
/// anew for each rewrite.
class SizeAnalysis {
public:
  SizeExpr getSize(Value tensor, int64_t dim);
  SmallVector<SizeExpr> getSizes(Value tensor);
  /// Of an i64 or index value.
  SizeExpr getScalar(Value integer);
  /// Sizes that the list argument of a view-like call asks for; -1 is inferred from `source` (as `expand` does with
  /// `keepOnMinusOne`).
  std::optional<SmallVector<SizeExpr>> getRequestedSizes(CallOp call, StringRef argument, Value source,
                                                         bool keepOnMinusOne);
  /// The argument and dimension that a size is, if it is one.
  std::optional<std::pair<BlockArgument, int64_t>> getArgumentDim(const SizeExpr &size) const;
  /// True if only dimensions of arguments occur.
  bool isOverArguments(const SizeExpr &size) const;
  /// An index value; ops are made at the builder's insertion point.
  Value materialize(OpBuilder &builder, Location loc, const SizeExpr &size);
  OpFoldResult materializeFolded(OpBuilder &builder, Location loc, const SizeExpr &size);

private:
  struct Symbol {
    Value value;
    /// Dimension of a tensor, or -1 for a scalar.
    int64_t dim;
  };
  SizeExpr getSymbol(Value value, int64_t dim);
  SizeExpr getArgumentSize(BlockArgument argument, int64_t dim);
  std::optional<SizeExpr> getCallSize(CallOp call, unsigned result, int64_t dim);
  std::optional<SizeExpr> getOpSize(OpResult value, int64_t dim);

  std::vector<Symbol> symbols;
  std::map<std::pair<const void *, int64_t>, unsigned> numbers;
  llvm::StringMap<unsigned> named;
};

} // namespace mlir::aten

#endif // MOE_MLIR_LIB_CONVERSION_ATENTOGRAPH_SIZEANALYSIS_H
