//===- SetTarget.cpp - record the traits of a target in the module ------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/CpuTarget.h"
#include "moe-mlir/Dialect/Kernel/IR/CudaTarget.h"
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
    FailureOr<DictionaryAttr> traits = failure();
    if (!cuda.empty()) {
      if (auto target = kernel::CudaTarget::forArch(cuda, error); succeeded(target))
        traits = target->toAttr(&getContext());
    } else if (auto target = kernel::CpuTarget::forCpu(cpu, error); succeeded(target)) {
      traits = target->toAttr(&getContext());
    }
    if (failed(traits)) {
      emitError(getOperation().getLoc()) << error;
      return signalPassFailure();
    }
    getOperation()->setAttr(kernel::CpuTarget::attrName, *traits);
  }
};
} // namespace
