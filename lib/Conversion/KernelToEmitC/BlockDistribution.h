//===- BlockDistribution.h - the work of a block, shared by its warps -----------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_BLOCKDISTRIBUTION_H
#define MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_BLOCKDISTRIBUTION_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::kernel {

/// A thread's place in the launch.
struct WarpPosition {
  Value lane;
  Value inBlock, perBlock; ///< number of the warp in its block, and warps of a block
};

/// Whether a body holds scf.parallel: it is then the work of a block, otherwise that of a warp.
bool isBlockWork(Block &body);

/// Rewrites `body`, which all warps of a block run, in parts: the iterations of an scf.parallel are shared by the
/// warps, what writes besides is done by the first warp, and the block meets between the parts. Emits an error if a
/// part hands on a value to another.
LogicalResult distributeToWarps(Block &body, const WarpPosition &at);

} // namespace mlir::kernel

#endif // MOE_MLIR_LIB_CONVERSION_KERNELTOEMITC_BLOCKDISTRIBUTION_H
