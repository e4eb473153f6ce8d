//===- SizeContract.h - sizes that no tensor can have ---------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_SIZECONTRACT_H
#define MOE_MLIR_LIB_PIPELINES_SIZECONTRACT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace moe_mlir {

/// Refuses tensors of less than no elements whatever the inputs are, with one message about the first. Sizes that only
/// a run knows are left to graph-check-bounds; canonicalization comes before it, and would write these into types.
mlir::LogicalResult verifySizes(mlir::func::FuncOp func);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_SIZECONTRACT_H
