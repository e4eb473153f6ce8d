//===- Runtime.cpp - kernel level to runtime level ----------------------------------------------------------------===//

#include "moe-mlir/Conversion/HostToMoeRt/Passes.h"
#include "moe-mlir/Conversion/KernelToCuda/Passes.h"
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/Cuda/Transforms/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"
#include "moe-mlir/Pipelines/Passes.h"
#include "moe-mlir/Pipelines/Pipelines.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_KERNELLOWERFORGPU
#include "moe-mlir/Pipelines/Passes.h.inc"

namespace {
struct KernelLowerForGpu : impl::KernelLowerForGpuBase<KernelLowerForGpu> {
  using KernelLowerForGpuBase::KernelLowerForGpuBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager pm(ModuleOp::getOperationName());
    kernel::buildKernelToEmitCPipeline(pm);
    pm.getDependentDialects(registry);
  }

  void runOnOperation() override {
    if (!kernel::isOffloaded(getOperation()))
      return markAllAnalysesPreserved();
    OpPassManager pm(ModuleOp::getOperationName());
    kernel::buildKernelToEmitCPipeline(pm);
    if (failed(runPipeline(pm, getOperation())))
      signalPassFailure();
  }
};
} // namespace

void buildKernelToRuntimePipeline(OpPassManager &pm) {
  pm.addPass(kernel::createKernelVerifyBounds());
  pm.addPass(kernel::createKernelVerifyWindows());
  pm.addPass(kernel::createKernelJoinGroups());
  pm.addPass(cuda::createCheckCudaHost());
  pm.addPass(kernel::createKernelMarkNoAlias());
  OpPassManager &host = pm.nest<func::FuncOp>();
  host.addPass(kernel::createKernelVerifyDimensions());
  // Equal sizes must be one value before the plans compare them.
  host.addPass(createCanonicalizerPass());
  host.addPass(createCSEPass());
  host.addPass(kernel::createKernelVerifyDimensions());
  host.addPass(kernel::createKernelResolveSizes());
  pm.addPass(kernel::createKernelPlanWindows());
  pm.addNestedPass<func::FuncOp>(kernel::createKernelPlanMemory());
  pm.addPass(moert::createConvertHostToMoeRt());
  OpPassManager &function = pm.nest<LLVM::LLVMFuncOp>();
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  // Kernels for a GPU are done then, and the passes for a CPU find none.
  pm.addPass(createKernelLowerForGpu());
  kernel::buildConvertKernelToLLVMPipeline(pm);
  pm.addPass(createMoeSetLevel({levelName(Level::Runtime).str()}));
}

void registerKernelToRuntimePipeline() {
  PassPipelineRegistration<>("kernel-to-runtime",
                             "From the kernel level to the runtime level, for the CPU or GPU of `kernel.target`",
                             buildKernelToRuntimePipeline);
}
} // namespace moe_mlir
