//===- Kernel.cpp - graph level to kernel level -------------------------------------------------------------------===//

#include "moe-mlir/Conversion/GraphToKernel/Passes.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"
#include "moe-mlir/Pipelines/Passes.h"
#include "moe-mlir/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void moe_mlir::buildGraphToKernelPipeline(OpPassManager &pm) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createConvertElementwiseToLinalgPass());
  functions.addPass(kernel::createGraphFuseElementwise());
  functions.addPass(createCSEPass());
  functions.addPass(kernel::createGraphCheckBounds());
  pm.addPass(kernel::createConvertGraphToKernel());
  // Kernels keep their shape: canonicalization would fold a forall of one iteration into code that every block runs.
  pm.addNestedPass<func::FuncOp>(createCSEPass());
  pm.addPass(kernel::createKernelChoosePlans());
  pm.addPass(createMoeSetLevel({levelName(Level::Kernel).str()}));
}

void moe_mlir::registerGraphToKernelPipeline() {
  PassPipelineRegistration<>("graph-to-kernel", "From tensors to kernels: fusion of elementwise ops, then kernels",
                             buildGraphToKernelPipeline);
}
