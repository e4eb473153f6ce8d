//===- Programs.h - how a kernel computes --------------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_REPORT_PROGRAMS_H
#define MOE_MLIR_LIB_REPORT_PROGRAMS_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Report/Report.h"

namespace moe_mlir {

/// Whether the kernel computes on floats; conversions and choices alone are moving.
bool computesFloats(mlir::kernel::FuncOp kernel);

/// Tiles and instructions of the kernel's products, or the type that its loops store. `dotBf16`: the target has a dot
/// product of pairs of bf16, `matrixBf16`: it has matrix registers for them.
KernelProgram describeProgram(mlir::kernel::FuncOp kernel, bool dotBf16, bool matrixBf16);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_REPORT_PROGRAMS_H
