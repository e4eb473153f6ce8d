//===- Multiples.h - what is known of sizes and indices -------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_MULTIPLES_H
#define MOE_MLIR_DIALECT_KERNEL_IR_MULTIPLES_H

#include "mlir/IR/Value.h"

namespace mlir::kernel {

/// Whether it can be seen that `value` is a multiple of `factor`.
bool isMultipleOf(Value value, int64_t factor);

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_IR_MULTIPLES_H
