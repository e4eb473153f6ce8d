//===- SetTarget.cpp - record the traits of a CPU in the module ---------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/CpuTarget.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

using namespace mlir;

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELSETTARGET
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

namespace {
struct KernelSetTarget : kernel::impl::KernelSetTargetBase<KernelSetTarget> {
  using KernelSetTargetBase::KernelSetTargetBase;

  void runOnOperation() override {
    std::string error;
    FailureOr<kernel::CpuTarget> target = kernel::CpuTarget::forCpu(cpu, error);
    if (failed(target)) {
      emitError(getOperation().getLoc()) << error;
      return signalPassFailure();
    }
    getOperation()->setAttr(kernel::CpuTarget::attrName, target->toAttr(&getContext()));
  }
};
} // namespace
