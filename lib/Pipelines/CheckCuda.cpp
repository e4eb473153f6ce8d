//===- CheckCuda.cpp - moe-check-cuda ----------------------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Target.h"
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
    getOperation().walk([&](Operation *op) {
      auto function = dyn_cast<FunctionOpInterface>(op);
      bool hasState = false;
      for (unsigned i = 0; function && i < function.getNumArguments(); ++i)
        hasState |= bool(function.getArgAttr(i, "moe.state"));
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
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace moe_mlir
