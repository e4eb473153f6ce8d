//===- Pipelines.h - one pipeline per arrow between levels ----------------------------------------------*- C++ -*-===//
#ifndef MOE_MLIR_PIPELINES_PIPELINES_H
#define MOE_MLIR_PIPELINES_PIPELINES_H

#include "moe-mlir/Pipelines/Levels.h"

#include "mlir/Pass/PassManager.h"

#include <string>

namespace moe_mlir {

struct PipelineOptions {
  /// What kernels are for, see makeTarget (Targets.h). If it is empty, the module's `kernel.target` decides, and this
  /// machine if it has none.
  std::string target = "";
  /// How the program is divided among ranks, see parseParallel (Parallel.h); of the arrow from level graph. Empty: not.
  std::string parallel = "";
  /// What schedules are decided for, see SchedulingOptions (LayerTimes.h); of the arrow from level spmd.
  std::string cluster = "";
  int64_t scheduleTokens = 0;
  /// Bytes that windows of a rank may take, see graph-cut-exchanges; of the arrow from level spmd. 0: as that pass says.
  int64_t windows = 0;
  /// Other ways to divide it, see parseVariants (Variants.h); with `parallel`.
  std::string variants = "";
};

/// The passes that make level graph of an imported model (`aten.call` ops), in the syntax of `moe-opt --pass-pipeline`.
std::string importPipeline();

/// The passes that take a module from `level` to the next one, ending with the check of that level's contract, in the
/// syntax of `moe-opt --pass-pipeline` (without the anchor). Not for the last level.
std::string arrowPipeline(Level level, const PipelineOptions &options = {});

/// Appends these passes. The passes must be registered.
mlir::LogicalResult buildArrow(mlir::OpPassManager &pm, Level level, const PipelineOptions &options = {});

/// Registers `moe-graph-to-spmd`, `moe-spmd-to-scheduled`, `moe-scheduled-to-kernel` and `moe-kernel-to-runtime`.
void registerArrowPipelines();

/// The pipeline `graph-to-scheduled`: elementwise ops become linalg and are fused, then every decision about kernels is
/// written into the graph, for the module's `kernel.target` if it has one (`graph-decide`). Decisions that are there
/// already stand.
void buildGraphToScheduledPipeline(mlir::OpPassManager &pm);
/// The pipeline `scheduled-to-kernel`: sizes are checked, kernels are made as their decisions say, and the host function
/// is cleaned up.
void buildScheduledToKernelPipeline(mlir::OpPassManager &pm);
/// The pipeline `graph-to-kernel`: one after the other.
void buildGraphToKernelPipeline(mlir::OpPassManager &pm);
/// Registers these.
void registerGraphToKernelPipeline();

/// The pipeline `kernel-to-runtime`: from the kernel level (with `kernel.target`) to the runtime level.
void buildKernelToRuntimePipeline(mlir::OpPassManager &pm);
void registerKernelToRuntimePipeline();

/// Registers `moe-reference-to-llvm`: a graph, executed by the oracle and by loops, for tests with mlir-runner.
void registerReferencePipeline();

} // namespace moe_mlir

#endif // MOE_MLIR_PIPELINES_PIPELINES_H
