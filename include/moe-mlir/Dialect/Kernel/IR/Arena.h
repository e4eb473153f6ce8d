//===- Arena.h - the memory of a host function's temporary buffers --------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_IR_ARENA_H
#define MOE_MLIR_DIALECT_KERNEL_IR_ARENA_H

#include "mlir/IR/Operation.h"

namespace mlir::kernel {

/// Unit attribute of the one `memref.alloc` of bytes in a host function that holds all planned buffers.
inline constexpr llvm::StringLiteral arenaAttrName = "kernel.arena";

/// Checks `op`, which carries the attribute with the value `value`; emits an error.
LogicalResult verifyArena(Operation *op, Attribute value);

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_IR_ARENA_H
