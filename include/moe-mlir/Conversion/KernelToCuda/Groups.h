//===- Groups.h - how the members of a group share a GPU's blocks ---------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_CONVERSION_KERNELTOCUDA_GROUPS_H
#define MOE_MLIR_CONVERSION_KERNELTOCUDA_GROUPS_H

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"

namespace mlir::kernel {

/// Blocks of each member on a device of so many multiprocessors, which run one each; one may have 0: those that are
/// left. They may be more than there are.
SmallVector<int64_t> divideBlocks(LaunchGroupOp group, int64_t multiprocessors);

} // namespace mlir::kernel

#endif // MOE_MLIR_CONVERSION_KERNELTOCUDA_GROUPS_H
