//===- Pipeline.cpp - kernel level to runtime level ---------------------------------------------------------------===//

#include "moe-mlir/Conversion/HostToMoeRt/Passes.h"
#include "moe-mlir/Conversion/KernelToLLVM/Passes.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"
#include "moe-mlir/Target/Cpu.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void moe_mlir::buildKernelToRuntimePipeline(OpPassManager &pm) {
  pm.addPass(kernel::createKernelMarkNoAlias());
  OpPassManager &host = pm.nest<func::FuncOp>();
  // Equal sizes must be one value before the memory plan compares them.
  host.addPass(createCanonicalizerPass());
  host.addPass(createCSEPass());
  host.addPass(kernel::createKernelResolveSizes());
  host.addPass(kernel::createKernelPlanMemory());
  pm.addPass(moert::createConvertHostToMoeRt());
  OpPassManager &function = pm.nest<LLVM::LLVMFuncOp>();
  function.addPass(createCanonicalizerPass());
  function.addPass(createCSEPass());
  kernel::buildConvertKernelToLLVMPipeline(pm);
}

void moe_mlir::registerKernelToRuntimePipeline() {
  PassPipelineRegistration<>("kernel-to-runtime",
                             "From the kernel level to the runtime level, for the CPU of `kernel.target`",
                             buildKernelToRuntimePipeline);
}
