//===- ExpandShape.h - memref.expand_shape by the sizes that it states -----------------------------------*- C++
//-*-===//
#ifndef MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_EXPANDSHAPE_H
#define MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_EXPANDSHAPE_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::moert {

/// `memref.expand_shape` of one dimension into several dynamic ones. MLIR's own pattern infers the sizes of a group
/// from the source, which it can for one dynamic size at most, and breaks down on more.
void populateExpandShapePatterns(RewritePatternSet &patterns);

} // namespace mlir::moert

#endif // MOE_MLIR_LIB_CONVERSION_HOSTTOMOERT_EXPANDSHAPE_H
