//===- Kernel.cpp - graph level to kernel level -------------------------------------------------------------------===//

#include "moe-mlir/Conversion/GraphToKernel/Passes.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"
#include "moe-mlir/Pipelines/Passes.h"
#include "moe-mlir/Pipelines/Pipelines.h"
#include "moe-mlir/Schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Rows are placed as tiles want them, and what is approximated depends on the epilogues.
static void buildGraphDecidePipeline(OpPassManager &pm) {
  pm.addPass(kernel::createGraphChooseTiles());
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(kernel::createGraphEncodeStates());
  functions.addPass(kernel::createGraphUpdateInPlace());
  functions.addPass(kernel::createGraphWidenExperts());
  functions.addPass(kernel::createGraphPlaceRows());
  functions.addPass(kernel::createGraphMarkEpilogues());
  pm.addPass(kernel::createGraphApproximateActivations());
}

void moe_mlir::buildGraphToScheduledPipeline(OpPassManager &pm) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createConvertElementwiseToLinalgPass());
  functions.addPass(kernel::createGraphFuseElementwise());
  functions.addPass(createCSEPass());
  buildGraphDecidePipeline(pm);
}

void moe_mlir::buildScheduledToKernelPipeline(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(kernel::createGraphCheckBounds());
  pm.addPass(kernel::createConvertGraphToKernel());
  // Kernels keep their shape: canonicalization would fold a forall of one iteration into code that every block runs.
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  pm.addPass(kernel::createKernelDelayWaits());
  pm.addPass(kernel::createKernelChoosePlans());
  pm.addPass(createMoeSetLevel({levelName(Level::Kernel).str()}));
}

void moe_mlir::buildGraphToKernelPipeline(OpPassManager &pm) {
  buildGraphToScheduledPipeline(pm);
  buildScheduledToKernelPipeline(pm);
}

void moe_mlir::registerGraphToKernelPipeline() {
  PassPipelineRegistration<>("graph-decide", "Decide how kernels are made: tiles, epilogues, where values stand",
                             buildGraphDecidePipeline);
  PassPipelineRegistration<>("graph-to-scheduled", "Fusion of elementwise ops, then graph-decide",
                             buildGraphToScheduledPipeline);
  PassPipelineRegistration<>("scheduled-to-kernel", "From tensors to kernels, as their decisions say",
                             buildScheduledToKernelPipeline);
  PassPipelineRegistration<>("graph-to-kernel", "From tensors to kernels: graph-to-scheduled, then scheduled-to-kernel",
                             buildGraphToKernelPipeline);
}
