//===- Accesses.h - which parts of its buffers a launch touches -----------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_REPORT_ACCESSES_H
#define MOE_MLIR_LIB_REPORT_ACCESSES_H

#include "HostSizes.h"

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

namespace moe_mlir {

/// Bytes of a launch if each element that it touches moves once.
struct Traffic {
  SizeExpr weights, read, written;
};

/// Counts from the loads and stores of the kernel. A dimension counts as far as its index can reach; one of a weight
/// whose index is itself read from a buffer (an expert, a token of the vocabulary) at most once per row of the launch.
/// Memory that no other launch uses does not leave the caches and is left out.
Traffic countTraffic(mlir::kernel::LaunchOp launch, mlir::kernel::FuncOp kernel, HostSizes &host, SizeTable &table);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_REPORT_ACCESSES_H
