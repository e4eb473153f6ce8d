//===- IndexBounds.h - between what bounds an index of a kernel moves -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_REPORT_INDEXBOUNDS_H
#define MOE_MLIR_LIB_REPORT_INDEXBOUNDS_H

#include "HostSizes.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

namespace moe_mlir {

/// What is known of an index: it is at most each of `upper` and at least `lower`, and has at most each of `counts`
/// different values.
struct Bounds {
  std::vector<SizeExpr> upper; ///< empty: nothing is known
  SizeExpr lower;
  bool isLoaded = false; ///< depends on an element of a buffer

  std::vector<SizeExpr> counts;

  static Bounds exactly(const SizeExpr &value) { return {{value}, value, false, {}}; }
};

/// Bounds of the index values of one kernel under one launch. While they are computed, loop variables stay symbols, so
/// that `min(48, n - i) + i` is at most n; `eliminate` puts the loops' own bounds in their place at the end.
class IndexBounds {
public:
  IndexBounds(mlir::kernel::FuncOp kernel, mlir::kernel::LaunchOp launch, HostSizes &host, SizeTable &table);

  Bounds of(mlir::Value index);
  /// Row indices of a tile.
  Bounds ofRows(mlir::Value rows);
  /// Bounds of index / divisor.
  Bounds quotient(const Bounds &index, int64_t divisor) { return divide(index, Bounds::exactly(divisor)); }
  /// The same bounds without loop variables; less may be known.
  Bounds eliminate(const Bounds &bounds);

  /// What the launch passes for an argument of the kernel; null for other values.
  mlir::Value operandFor(mlir::Value value);
  /// Size of a buffer that is an argument.
  SizeExpr size(mlir::Value memref, int64_t dim);

private:
  void define(mlir::Value variable, Bounds range);
  void defineVariables();
  Bounds compute(mlir::Operation *op);
  Bounds divide(const Bounds &a, const Bounds &b);
  std::vector<SizeExpr> replaceVariables(const SizeExpr &expr, bool upwards);
  std::optional<unsigned> lastVariable(const SizeExpr &expr) const;

  mlir::kernel::FuncOp kernel;
  mlir::kernel::LaunchOp launch;
  HostSizes &host;
  SizeTable &table;
  llvm::DenseMap<mlir::Value, Bounds> known;
  std::map<unsigned, Bounds> ranges; ///< of variables, by their symbol
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_REPORT_INDEXBOUNDS_H
