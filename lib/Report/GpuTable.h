//===- GpuTable.h - what kernels are on a GPU, for people -----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_REPORT_GPUTABLE_H
#define MOE_MLIR_LIB_REPORT_GPUTABLE_H

#include "moe-mlir/Report/Report.h"

namespace moe_mlir {

/// A line per launch: what is chosen for its kernel, estimate and floor; sums of the times per layer.
void printGpuTable(const Report &report, llvm::raw_ostream &os);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_REPORT_GPUTABLE_H
