//===- Passes.h - passes within the kernel level ------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES_H
#define MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::kernel {

#define GEN_PASS_DECL
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"

} // namespace mlir::kernel

#endif // MOE_MLIR_DIALECT_KERNEL_TRANSFORMS_PASSES_H
