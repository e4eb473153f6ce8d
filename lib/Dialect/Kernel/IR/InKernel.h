//===- InKernel.h - where an op stands ------------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DIALECT_KERNEL_IR_INKERNEL_H
#define MOE_MLIR_LIB_DIALECT_KERNEL_IR_INKERNEL_H

#include "mlir/IR/Operation.h"

namespace mlir::kernel {

/// Refuses an op of kernels in a host function, a func.func. A kernel may have become a function of any other dialect.
LogicalResult verifyInKernel(Operation *op);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_DIALECT_KERNEL_IR_INKERNEL_H
