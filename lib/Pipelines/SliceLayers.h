//===- SliceLayers.h - the experts of a layer cut into slices -------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_LIB_PIPELINES_SLICELAYERS_H
#define MOE_MLIR_LIB_PIPELINES_SLICELAYERS_H

#include "DivideLayers.h"

namespace moe_mlir {

/// Says what of a layer stands in the way of slices.
mlir::LogicalResult checkSlices(DividedLayer &layer, const ParallelSpec &spec);

/// Gives the layer's experts this rank's slice of their hidden width, and adds a token's sums over the ranks of `grid`.
/// The layer is still that of all experts.
void sliceLayer(DividedLayer &layer, mlir::FlatSymbolRefAttr grid, int64_t slices);

} // namespace moe_mlir

#endif // MOE_MLIR_LIB_PIPELINES_SLICELAYERS_H
