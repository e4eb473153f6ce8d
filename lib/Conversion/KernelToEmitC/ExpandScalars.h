//===- ExpandScalars.h - arithmetic that C++ lacks, in what it has -------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EXPANDSCALARS_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EXPANDSCALARS_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

namespace mlir::kernel {

/// Replaces in a kernel what an Emitter could not write: constants of f64, quotients that are rounded down or up, and
/// arithmetic on floats of 16 bits.
LogicalResult expandScalars(FuncOp func);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_EXPANDSCALARS_H
