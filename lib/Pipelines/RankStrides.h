//===- RankStrides.h - where the ranks of a program's grids stand among all of them --------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_RANKSTRIDES_H
#define MOE_MLIR_LIB_PIPELINES_RANKSTRIDES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace moe_mlir {

/// The ranks of a grid: how many, and how far neighbours are apart among all ranks.
struct RankStride {
  int64_t stride = 1;
  int64_t ranks = 1;
};

/// All ranks of a program, as its grids count them: the last grid varies fastest. A dimension of a grid (`moe.axis_of`)
/// and groups of a grid's ranks (`moe.groups_of`) are no ranks more.
struct RankStrides {
  explicit RankStrides(mlir::ModuleOp module);

  RankStride of(llvm::StringRef grid) const { return grids.lookup(grid); }

  int64_t all = 1; ///< ranks of the program

private:
  llvm::StringMap<RankStride> grids;
};

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_RANKSTRIDES_H
