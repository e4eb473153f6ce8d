//===- Emit.cpp - kernels as CUDA C++ text ------------------------------------------------------------------------===//

#include "moe-mlir/Conversion/KernelToCuda/Passes.h"
#include "moe-mlir/Conversion/KernelToEmitC/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Target/Cuda.h"

#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/EmitC/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/Cpp/CppEmitter.h"

using namespace mlir;
using namespace moe_mlir;

static constexpr llvm::StringLiteral kInclude = "#include \"device.cuh\"\n\n";

/// A module of its own with copies of the functions of one kind, and with the attributes of `module`.
template <typename FuncOp> static OwningOpRef<ModuleOp> extract(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  copy->getOperation()->setDiscardableAttrs(module->getDiscardableAttrDictionary());
  for (auto func : module.getOps<FuncOp>())
    copy->push_back(func.clone());
  return copy;
}

FailureOr<std::vector<KernelText>> moe_mlir::printKernels(ModuleOp module) {
  // Expressions are formed last, for reading: their textual IR does not always parse again.
  OwningOpRef<ModuleOp> kernels = extract<emitc::FuncOp>(module);
  PassManager pm(module.getContext());
  pm.nest<emitc::FuncOp>().addPass(emitc::createFormExpressionsPass());
  if (failed(pm.run(*kernels)))
    return failure();
  std::vector<KernelText> texts;
  for (auto func : kernels->getOps<emitc::FuncOp>()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (failed(emitc::translateToCpp(func, os)))
      return failure();
    texts.push_back({func.getName().str(), kInclude.str() + text});
  }
  return texts;
}

FailureOr<std::vector<KernelText>> moe_mlir::emitCudaTexts(ModuleOp module) {
  // Which kernels share a launch, the host program says.
  OwningOpRef<ModuleOp> joined = module.clone();
  PassManager join(module.getContext());
  join.addPass(kernel::createKernelJoinGroups());
  if (failed(join.run(*joined)))
    return failure();
  OwningOpRef<ModuleOp> kernels = extract<kernel::FuncOp>(*joined);
  if (kernels->getOps().empty())
    return module.emitError("has no kernels; CUDA C++ is made of the kernel level (moe-compile --to=kernel)");
  PassManager pm(module.getContext());
  kernel::buildKernelToEmitCPipeline(pm);
  if (failed(pm.run(*kernels)))
    return failure();
  return printKernels(*kernels);
}

LogicalResult moe_mlir::emitCuda(ModuleOp module, raw_ostream &os) {
  FailureOr<std::vector<KernelText>> texts = emitCudaTexts(module);
  if (failed(texts))
    return failure();
  os << StringRef(kInclude).drop_back();
  for (const KernelText &text : *texts)
    os << "\n" << StringRef(text.source).drop_front(kInclude.size());
  return success();
}
