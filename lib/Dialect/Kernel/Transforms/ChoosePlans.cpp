//===- ChoosePlans.cpp - decide what the bodies of kernels leave open ---------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELCHOOSEPLANS
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

namespace {
struct KernelChoosePlans : kernel::impl::KernelChoosePlansBase<KernelChoosePlans> {
  using KernelChoosePlansBase::KernelChoosePlansBase;

  void runOnOperation() override {
    kernel::TargetAttrInterface target = kernel::targetOf(getOperation());
    if (!target)
      return markAllAnalysesPreserved();
    for (auto kernel : getOperation().getOps<kernel::FuncOp>())
      if (!kernel->hasAttr(kernel::planAttrName))
        if (Attribute plan = target.choosePlan(kernel))
          kernel->setAttr(kernel::planAttrName, plan);
  }
};
} // namespace
