//===- Pipeline.cpp - kernel-to-emitc ----------------------------------------------------------------------------===//

#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void kernel::buildKernelToEmitCPipeline(OpPassManager &pm) {
  pm.addPass(createKernelChoosePlans()); // of kernels that were written by hand
  OpPassManager &kernels = pm.nest<FuncOp>();
  kernels.addPass(createKernelDistributeWarps());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  pm.addPass(createConvertKernelToEmitC());
}

void kernel::registerKernelToEmitCPipeline() {
  PassPipelineRegistration<>("kernel-to-emitc", "Lower kernels (kernel.func) to CUDA C++ as emitc",
                             buildKernelToEmitCPipeline);
}
