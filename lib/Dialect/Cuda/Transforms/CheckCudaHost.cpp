//===- CheckCudaHost.cpp - the host program of a GPU leaves device memory alone ----------------------------------===//

#include "moe-mlir/Dialect/Cuda/Transforms/Passes.h"
#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/IR/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace mlir::cuda {
#define GEN_PASS_DEF_CHECKCUDAHOST
#include "moe-mlir/Dialect/Cuda/Transforms/Passes.h.inc"
} // namespace mlir::cuda

/// What is wrong with an op of the host program; empty if nothing.
static StringRef fault(Operation *op) {
  if (isa<memref::GetGlobalOp>(op))
    return "is a constant in the host's memory, which kernels cannot read: make the tensor (arith.constant) an input or "
           "a moe.parameter";
  bool usesMemory = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>);
  if (!usesMemory || isa<kernel::LaunchOp>(op))
    return "";
  if (hasEffect<MemoryEffects::Read>(op) || hasEffect<MemoryEffects::Write>(op))
    return "touches device memory from the host program, which programs for a GPU cannot do; sizes and positions that "
           "elements of a tensor decide (tensor.extract), and checks of indices that are not known to be inside, are for "
           "--target=cpu; --entry=layers compiles the MoE layers of a model";
  return "";
}

namespace {
struct CheckCudaHost : cuda::impl::CheckCudaHostBase<CheckCudaHost> {
  using CheckCudaHostBase::CheckCudaHostBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (!kernel::isOffloaded(getOperation()))
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Operation *op) {
        StringRef what = fault(op);
        if (what.empty())
          return WalkResult::advance();
        op->emitOpError(what);
        signalPassFailure();
        return WalkResult::interrupt();
      });
  }
};
} // namespace
