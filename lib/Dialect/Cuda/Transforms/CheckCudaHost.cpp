//===- CheckCudaHost.cpp - the host program of a GPU writes no device memory ------------------------------------===//

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

/// What is wrong with an op of the host program; empty if nothing. Values that it loads come from the GPU, though slowly.
static StringRef fault(Operation *op) {
  bool usesMemory = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<MemRefType>);
  if (!usesMemory || isa<kernel::LaunchOp, memref::LoadOp>(op))
    return "";
  if (hasEffect<MemoryEffects::Read>(op) || hasEffect<MemoryEffects::Write>(op))
    return "accesses device memory from the host program: on a GPU kernels do that, and memref.load may read; compile it "
           "for --target=cpu";
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
