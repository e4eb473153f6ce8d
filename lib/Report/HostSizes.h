//===- HostSizes.h - sizes in the host function ---------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_REPORT_HOSTSIZES_H
#define MOE_MLIR_LIB_REPORT_HOSTSIZES_H

#include "SizeTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"

namespace moe_mlir {

/// Index arithmetic of the host function at level kernel, as expressions over the named dimensions and integer inputs
/// of @main; all elements of such an input count as equal. What cannot be followed becomes a size of its own, named
/// unknown0, unknown1, ...
class HostSizes {
public:
  /// Of what a pass exchanges of the tokens, or of all tokens of the call (`isWhole`).
  HostSizes(mlir::func::FuncOp main, SizeTable &table, bool isWhole = false);

  SizeExpr scalar(mlir::Value value);
  SizeExpr size(mlir::Value memref, int64_t dim);

  /// The element of an integer input that all rows have in common (`moe.uniform`), if `memref` is one.
  std::optional<SizeExpr> uniformElement(mlir::Value memref);
  /// Name of an input.
  std::string inputName(mlir::BlockArgument argument);
  /// Named sizes that are elements of inputs.
  const std::vector<std::string> &elements() const { return elementNames; }

private:
  SizeExpr element(mlir::BlockArgument argument);
  SizeExpr unknown() { return table.named("unknown" + std::to_string(unknowns++)); }
  SizeExpr compute(mlir::Operation *op);
  /// A sum that a loop makes of equal parts.
  std::optional<SizeExpr> computeSum(mlir::scf::ForOp loop, unsigned result);
  SizeExpr computeSize(mlir::Value memref, int64_t dim);

  mlir::func::FuncOp main;
  SizeTable &table;
  const bool isWhole;
  llvm::DenseMap<mlir::Value, SizeExpr> scalars;
  std::map<std::pair<const void *, int64_t>, SizeExpr> sizes;
  std::vector<std::string> elementNames;
  unsigned unknowns = 0;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_REPORT_HOSTSIZES_H
