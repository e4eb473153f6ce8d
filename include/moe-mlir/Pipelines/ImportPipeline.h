//===- ImportPipeline.h - from an imported graph to the graph level ------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_PIPELINES_IMPORTPIPELINE_H
#define MOE_MLIR_PIPELINES_IMPORTPIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace moe_mlir {

/// The passes between `importPt2` and the `graph` level: in-place calls become functional, known parts of models are
/// raised to nn and moe, the rest becomes linalg.
void buildImportPipeline(mlir::OpPassManager &pm);

/// Registers the pipeline as `import-to-graph`.
void registerImportPipeline();

} // namespace moe_mlir

#endif // MOE_MLIR_PIPELINES_IMPORTPIPELINE_H
