//===- Decisions.h - attributes of level scheduled ----------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_DIALECT_KERNEL_IR_DECISIONS_H
#define MOE_MLIR_LIB_DIALECT_KERNEL_IR_DECISIONS_H

#include "mlir/IR/Operation.h"

namespace mlir::kernel {

/// Whether `kernel.tiles` or `kernel.epilogue` may stand on `op` with that value. Whether it can be carried out depends
/// on other ops: see moe-mlir/Schedule/Decisions.h.
LogicalResult verifyDecision(Operation *op, NamedAttribute attribute);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_DIALECT_KERNEL_IR_DECISIONS_H
