//===- Pipeline.cpp - kernel-to-emitc ----------------------------------------------------------------------------===//

#include "moe-mlir/Conversion/KernelToCuda/Passes.h"
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void kernel::buildKernelToThreadsPipeline(OpPassManager &pm) {
  pm.addPass(createKernelJoinGroups());
  pm.addPass(createKernelChoosePlans()); // of kernels that were written by hand
  OpPassManager &kernels = pm.nest<FuncOp>();
  kernels.addPass(createKernelDistributeWarps());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
  kernels.addPass(createKernelSpecializeWarps());
  kernels.addPass(createCanonicalizerPass());
  kernels.addPass(createCSEPass());
}

void kernel::buildKernelToEmitCPipeline(OpPassManager &pm) {
  buildKernelToThreadsPipeline(pm);
  pm.addPass(createConvertKernelToEmitC());
}

void kernel::registerKernelToEmitCPipeline() {
  PassPipelineRegistration<>("kernel-to-threads", "Distribute the work of kernels (kernel.func) to threads of a GPU",
                             buildKernelToThreadsPipeline);
  PassPipelineRegistration<>("kernel-to-emitc", "Lower kernels (kernel.func) to CUDA C++ as emitc",
                             buildKernelToEmitCPipeline);
}
