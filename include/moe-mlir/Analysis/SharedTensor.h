//===- SharedTensor.h - along which dimensions two ops can share a tensor piece by piece ----------------*- C++ -*-===//
//
// COMET (section 3.1): a producer and a consumer can work on pieces of the tensor between them at the same time only if
// the consumer treats the pieces independently of each other. Which dimensions these are is not a table of ops: it is
// read from what the consumer computes, its dense lowering.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef MOE_MLIR_ANALYSIS_SHAREDTENSOR_H
#define MOE_MLIR_ANALYSIS_SHAREDTENSOR_H

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/Operation.h"

namespace moe_mlir {

/// What the owner of `operand` does along each dimension of it: `parallel` where elements of different indices go into
/// different elements of the results, `reduction` where one result needs several indices. The owner is a moe op that
/// moe-lower-to-dense knows. Fails, with an error at the owner, for others.
mlir::FailureOr<llvm::SmallVector<mlir::utils::IteratorType>> iteratorsOf(mlir::OpOperand &operand);

/// What a matrix between the ops of a layer calls its dimensions: rows, columns.
llvm::StringRef nameOfDimension(int64_t dim);

/// Checks that the owner of `operand` can take it in pieces of dimension `dim`. The error says which dimension cannot be
/// cut, and why.
mlir::LogicalResult checkCut(mlir::OpOperand &operand, int64_t dim);

} // namespace moe_mlir

#endif // MOE_MLIR_ANALYSIS_SHAREDTENSOR_H
