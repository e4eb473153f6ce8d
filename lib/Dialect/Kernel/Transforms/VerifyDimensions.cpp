//===- VerifyDimensions.cpp - kernel-verify-dimensions ------------------------------------------------------------===//

#include "moe-mlir/Dialect/Kernel/IR/Kernel.h"
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::kernel {
#define GEN_PASS_DEF_KERNELVERIFYDIMENSIONS
#include "moe-mlir/Dialect/Kernel/Transforms/Passes.h.inc"
} // namespace mlir::kernel

using namespace mlir;

namespace {
struct KernelVerifyDimensions : kernel::impl::KernelVerifyDimensionsBase<KernelVerifyDimensions> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    WalkResult result = getOperation().walk([](memref::DimOp op) -> WalkResult {
      std::optional<int64_t> dim = op.getConstantIndex();
      auto type = dyn_cast<MemRefType>(op.getSource().getType());
      if (!dim || !type || (*dim >= 0 && *dim < type.getRank()))
        return WalkResult::advance();
      return op.emitOpError() << "asks for the size of dimension " << *dim << " of a buffer that has " << type.getRank()
                              << "; they count from 0";
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
