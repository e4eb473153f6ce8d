//===- Pipeline.cpp - graph-to-kernel ---------------------------------------------------------------------------===//

#include "moe-mlir/Conversion/GraphToKernel/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void kernel::buildGraphToKernelPipeline(OpPassManager &pm) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(createConvertElementwiseToLinalgPass());
  functions.addPass(createGraphFuseElementwise());
  functions.addPass(createCSEPass());
  pm.addPass(createConvertGraphToKernel());
  // Kernels keep their shape: canonicalization would fold a forall of one iteration into code that every block runs.
  pm.addNestedPass<func::FuncOp>(createCSEPass());
}

void kernel::registerGraphToKernelPipeline() {
  PassPipelineRegistration<>("graph-to-kernel", "From tensors to kernels: fusion of elementwise ops, then kernels",
                             buildGraphToKernelPipeline);
}
