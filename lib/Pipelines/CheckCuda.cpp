//===- CheckCuda.cpp - moe-check-cuda ----------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Target.h"
#include "moe-mlir/Dialect/Moe/IR/Moe.h"
#include "moe-mlir/Dialect/Nn/IR/Nn.h"
#include "moe-mlir/Pipelines/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace moe_mlir {
#define GEN_PASS_DEF_MOECHECKCUDA
#include "moe-mlir/Pipelines/Passes.h.inc"

namespace {
struct MoeCheckCuda : impl::MoeCheckCudaBase<MoeCheckCuda> {
  using MoeCheckCudaBase::MoeCheckCudaBase;

  void runOnOperation() override {
    kernel::TargetAttrInterface target = kernel::targetOf(getOperation());
    if (target && target.isHost())
      return markAllAnalysesPreserved();
    llvm::SetVector<StringRef> kinds;
    Operation *first = nullptr;
    moe::GateOp gate;
    getOperation().walk([&](Operation *op) {
      auto function = dyn_cast<FunctionOpInterface>(op);
      bool hasState = false;
      for (unsigned i = 0; function && i < function.getNumArguments(); ++i)
        hasState |= bool(function.getArgAttr(i, "moe.state"));
      if (auto each = dyn_cast<moe::GateOp>(op); each && each.getCapacity() && !gate)
        gate = each;
      if (!hasState && !isa<nn::AttentionOp, nn::CacheUpdateOp>(op))
        return;
      first = first ? first : op;
      kinds.insert(hasState ? "a state between calls" : op->getName().getStringRef());
    });
    if (first) {
      emitError(first->getLoc()) << llvm::join(kinds.getArrayRef(), ", ")
                                 << " cannot run on a GPU: whole models are for --target=cpu, and of an exported "
                                    "model --entry=layers compiles the MoE layers for a GPU";
      return signalPassFailure();
    }
    // How many rows an expert takes is computed in f64, as PyTorch's layers do; kernels for a GPU have no f64.
    if (gate) {
      emitError(gate.getLoc()) << gate->getName().getStringRef()
                               << " with a capacity cannot run on a GPU, whose kernels do not compute in f64: leave "
                                  "'capacity' out, or compile for --target=cpu";
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace moe_mlir
