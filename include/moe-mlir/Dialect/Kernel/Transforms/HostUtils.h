//===- HostUtils.h - buffers and sizes of the host function at the kernel level -----------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_HOSTUTILS_H
#define MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_HOSTUTILS_H

#include "mlir/IR/Builders.h"

namespace mlir::kernel {

/// The allocation, parameter or argument that `memref` is a view of (itself if it is not a view).
Value getViewRoot(Value memref);

/// The dynamic sizes that a window of the host program was made with.
ValueRange getWindowSizes(Value window);

/// Size of dimension `dim` of `memref`, made at the builder's position from the operands of the views and allocations
/// that it comes from; a constant for a static dimension.
Value getMemrefSize(OpBuilder &builder, Location loc, Value memref, int64_t dim);

/// Moves the scalar arithmetic that computes `value` in front of `op`, as far as it stands behind it in the same
/// block. Fails if an op with side effects or one that works on a buffer is among it.
LogicalResult hoistScalar(Value value, Operation *op);

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_HOSTUTILS_H
