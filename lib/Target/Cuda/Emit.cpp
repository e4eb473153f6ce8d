//===- Emit.cpp - kernels as CUDA C++ text
//------------------------------------------------------------------------------===//

#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Target/Cuda.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/EmitC/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/Cpp/CppEmitter.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void moe_mlir::buildKernelToEmitCPipeline(OpPassManager &pm) {
  pm.nest<kernel::FuncOp>().addPass(kernel::createKernelDistributeWarps());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(kernel::createConvertKernelToEmitC());
}

void moe_mlir::registerKernelToEmitCPipeline() {
  PassPipelineRegistration<>("kernel-to-emitc", "Lower kernels (kernel.func) to CUDA C++ as emitc",
                             buildKernelToEmitCPipeline);
}

LogicalResult moe_mlir::emitCuda(ModuleOp module, raw_ostream &os) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  kernels->getOperation()->setDiscardableAttrs(module->getDiscardableAttrDictionary());
  for (auto func : module.getOps<kernel::FuncOp>())
    kernels->push_back(func.clone());
  if (kernels->getOps().empty())
    return module.emitError("has no kernels; CUDA C++ is made of the kernel level (moe-compile --to=kernel)");

  PassManager pm(module.getContext());
  buildKernelToEmitCPipeline(pm);
  // Expressions are formed last, for reading: their textual IR does not always parse again.
  pm.nest<emitc::FuncOp>().addPass(emitc::createFormExpressionsPass());
  if (failed(pm.run(*kernels)))
    return failure();

  // Into a string first: a failure in the middle must leave nothing behind.
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (auto func : kernels->getOps<emitc::FuncOp>()) {
    stream << "\n";
    if (failed(emitc::translateToCpp(func, stream)))
      return failure();
  }
  os << "#include \"device.cuh\"\n" << text;
  return success();
}
