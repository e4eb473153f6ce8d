//===- SetTarget.cpp - kernel-set-target: record in a module what its kernels are for -----------------------------===//

#include "moe-mlir/Dialect/Cuda/IR/Cuda.h"
#include "moe-mlir/Dialect/X86/IR/X86.h"
#include "moe-mlir/Pipelines/Passes.h"
#include "moe-mlir/Pipelines/Targets.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_KERNELSETTARGET
#include "moe-mlir/Pipelines/Passes.h.inc"

namespace {
struct KernelSetTarget : impl::KernelSetTargetBase<KernelSetTarget> {
  using KernelSetTargetBase::KernelSetTargetBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string error;
    kernel::TargetAttrInterface known = kernel::targetOf(module), wanted;
    if (!target.empty() || !known) {
      wanted = makeTarget(&getContext(), target.empty() ? "cpu" : StringRef(target), error);
      if (!wanted) {
        emitError(module.getLoc()) << error;
        return signalPassFailure();
      }
    }
    if (!known) {
      module->setAttr(kernel::targetAttrName, wanted);
      return;
    }
    // What the module says stands, edited or not; an option that says something else is an error.
    StringRef device = StringRef(target).split(':').second;
    if (wanted && (wanted.getKind() != known.getKind() || !known.isCalled(device.empty() ? "native" : device))) {
      emitError(module.getLoc()) << "'" << kernel::targetAttrName << "' is for " << known.describe()
                                 << ", but option 'target' says '" << target << "'; remove the attribute or the option";
      return signalPassFailure();
    }
  }
};
} // namespace
} // namespace moe_mlir
