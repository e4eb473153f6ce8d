//===- Greedy.h - patterns until none matches -----------------------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_SUPPORT_GREEDY_H
#define MOE_MLIR_SUPPORT_GREEDY_H

#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace moe_mlir {

/// Applies `patterns` inside `op` until none matches. MLIR's driver gives up after 10 walks and says nothing; here it
/// has as many as any graph needs, and giving up is an error that names `op`. With `fromFirst` each walk begins at the
/// first op: patterns that replace a value by an earlier one then move few uses each.
mlir::LogicalResult applyPatternsToEnd(mlir::Operation *op, const mlir::FrozenRewritePatternSet &patterns,
                                       bool fromFirst = false);

} // namespace moe_mlir

#endif // MOE_MLIR_SUPPORT_GREEDY_H
